"""Roles and bindings: who writes one must hold every right in it, or be allowed to `escalate` or `bind`.

Upstream's rules and words: pkg/registry/rbac of Kubernetes decides them, and its answers are quoted here.
"""

from __future__ import annotations

import time

import pytest

from longshore.api import policy_rules
from longshore.api.facts import kinds
from longshore.api.types import Obj
from support.door import Door, binding, person, refusal, rule

pytestmark = pytest.mark.anyio

BOB = person("bob", "devs")
RBAC = "rbac.authorization.k8s.io"
WRITES = rule(
    "create update patch delete get list", "roles rolebindings clusterroles clusterrolebindings", RBAC
)
POD_READER: Obj = {"metadata": {"name": "r"}, "rules": [rule("get list", "pods")]}

ROLE_CASES = [
    # held besides the right to write roles, wanted, whether it is granted
    ([], [rule("get", "pods")], False),
    ([rule("get", "pods")], [rule("get", "pods")], True),
    ([rule("get", "pods")], [rule("get list", "pods")], False),
    ([rule("get", "pods"), rule("list", "pods")], [rule("get list", "pods")], True),
    ([rule("*", "pods")], [rule("get list", "pods")], True),
    ([rule("get list watch create update patch delete", "pods")], [rule("*", "pods")], False),
    ([rule("get", "*")], [rule("get", "pods secrets pods/log")], True),
    ([rule("get", "*")], [rule("get", "jobs", "batch")], False),
    ([rule("get", "*", "*")], [rule("get", "jobs", "batch")], True),
    ([rule("get", "pods secrets jobs")], [rule("get", "*")], False),
    ([rule("get", "*/log")], [rule("get", "pods/log")], True),
    ([rule("get", "pods")], [rule("get", "pods/log")], False),
    ([rule("get", "secrets", names="a b")], [rule("get", "secrets", names="a")], True),
    ([rule("get", "secrets", names="a")], [rule("get", "secrets", names="a b")], False),
    ([rule("get", "secrets", names="a")], [rule("get", "secrets")], False),
    ([rule("get", "secrets")], [rule("get", "secrets", names="a")], True),
    ([], [], True),
    ([rule("escalate", "clusterroles", RBAC)], [rule("*", "*", "*")], True),
    ([rule("escalate", "roles", RBAC)], [rule("*", "*", "*")], False),
    ([rule("bind", "clusterroles", RBAC)], [rule("get", "pods")], False),
    ([{"nonResourceURLs": ["/metrics*"], "verbs": ["get"]}],
     [{"nonResourceURLs": ["/metrics/slis"], "verbs": ["get"]}], True),
    ([{"nonResourceURLs": ["/metrics"], "verbs": ["get"]}],
     [{"nonResourceURLs": ["/metrics*"], "verbs": ["get"]}], False),
    ([rule("get", "*", "*")], [{"nonResourceURLs": ["/metrics"], "verbs": ["get"]}], False),
]  # fmt: skip


@pytest.mark.parametrize(("held", "wanted", "granted"), ROLE_CASES)
async def test_a_role_is_written_by_who_holds_all_of_it(
    door: Door, held: list[Obj], wanted: list[Obj], granted: bool
) -> None:
    await door.give(BOB, [WRITES, *held])
    bob = door.of(BOB)
    role: Obj = {"metadata": {"name": "r"}, "rules": wanted}
    await door.admin.create(kinds.CLUSTER_ROLES, {"metadata": {"name": "there"}})
    writes = (
        lambda: bob.create(kinds.CLUSTER_ROLES, role),
        lambda: bob.patch(kinds.CLUSTER_ROLES, "there", {"rules": wanted}),
        lambda: bob.update(kinds.CLUSTER_ROLES, {"metadata": {"name": "there"}, "rules": wanted}),
        lambda: bob.update(kinds.CLUSTER_ROLES, {"metadata": {"name": "put"}, "rules": wanted}),
        lambda: bob.apply(kinds.CLUSTER_ROLES, {"metadata": {"name": "new"}, "rules": wanted}, manager="m"),
    )
    for write in writes:
        if granted:
            await write()
        else:
            refused = await refusal(write())
            assert refused.code == 403
            assert "is attempting to grant RBAC permissions not currently held" in refused.message


async def test_the_words_are_those_of_kubernetes(door: Door) -> None:
    await door.give(BOB, [WRITES, rule("get", "pods")])
    wanted = [rule("get list watch", "pods secrets"), {"nonResourceURLs": ["/metrics"], "verbs": ["get"]}]
    refused = await refusal(
        door.of(BOB).create(kinds.CLUSTER_ROLES, {"metadata": {"name": "r"}, "rules": wanted})
    )
    assert refused.message == (
        'clusterroles.rbac.authorization.k8s.io "r" is forbidden: user "bob" '
        '(groups=["devs" "system:authenticated"]) is attempting to grant RBAC permissions not currently '
        "held:\n"
        '{APIGroups:[""], Resources:["pods"], Verbs:["list" "watch"]}\n'
        '{APIGroups:[""], Resources:["secrets"], Verbs:["get" "list" "watch"]}\n'
        '{NonResourceURLs:["/metrics"], Verbs:["get"]}'
    )


async def test_a_binding_to_a_role_that_is_gone_is_told_where_it_hinders(door: Door) -> None:
    await door.give(BOB, [WRITES])
    await door.bind(BOB, "gone", "default")
    refused = await refusal(door.of(BOB).create(kinds.ROLES, POD_READER, "default"))
    assert refused.message.endswith(
        '; resolution errors: [clusterroles.rbac.authorization.k8s.io "gone" not found]'
    )
    refused = await refusal(door.of(BOB).list(kinds.PODS, "default"))
    assert refused.message == (
        'pods is forbidden: User "bob" cannot list resource "pods" in API group "" in the namespace "default"'
        ': RBAC: clusterrole.rbac.authorization.k8s.io "gone" not found'
    )


@pytest.mark.parametrize(
    ("held", "where", "granted"),
    [
        ([], "", False),
        ([], "default", False),
        ([rule("get list", "pods")], "", True),
        ([rule("get list", "pods")], "default", True),
        ([rule("bind", "clusterroles", RBAC)], "", True),
        ([rule("bind", "clusterroles", RBAC, names="pod-reader")], "default", True),
        ([rule("bind", "clusterroles", RBAC, names="other")], "default", False),
        ([rule("bind", "roles", RBAC)], "default", False),
        ([rule("escalate", "clusterroles rolebindings", RBAC)], "default", False),
        ([rule("*", "*", "*")], "", True),
    ],
)
async def test_a_role_is_bound_by_who_holds_all_of_it_or_may_bind_it(
    door: Door, held: list[Obj], where: str, granted: bool
) -> None:
    await door.give(BOB, [WRITES, *held])
    await door.admin.create(kinds.CLUSTER_ROLES, {**POD_READER, "metadata": {"name": "pod-reader"}})
    what = kinds.ROLE_BINDINGS if where else kinds.CLUSTER_ROLE_BINDINGS
    bob = door.of(BOB)
    if granted:
        await bob.create(what, binding("pod-reader", "eve"), where)
        assert door.may(person("eve"), "list", "pods", where or "default")
    else:
        refused = await refusal(bob.create(what, binding("pod-reader", "eve"), where))
        assert refused.code == 403
        assert not door.may(person("eve"), "list", "pods", where)
    await door.admin.create(what, binding("pod-reader", "carol", name="there"), where)
    subjects = binding("pod-reader", "eve")["subjects"]
    change = bob.patch(what, "there", {"subjects": subjects}, where)
    if granted:
        await change
    else:
        assert (await refusal(change)).code == 403


async def test_rights_of_one_namespace_are_none_to_grant_in_another(door: Door) -> None:
    await door.admin.create(kinds.NAMESPACES, {"metadata": {"name": "other"}})
    await door.give(BOB, [WRITES])
    await door.give(BOB, [rule("get list", "pods")], "default", "reads-here")
    bob = door.of(BOB)
    await bob.create(kinds.ROLES, POD_READER, "default")
    await bob.create(kinds.ROLE_BINDINGS, binding("r", "eve", kind="Role"), "default")
    assert (await refusal(bob.create(kinds.ROLES, POD_READER, "other"))).code == 403
    assert (await refusal(bob.create(kinds.CLUSTER_ROLES, POD_READER))).code == 403
    assert door.may(person("eve"), "list", "pods", "default")
    assert not door.may(person("eve"), "list", "pods", "other")


async def test_a_role_that_is_missing_can_be_bound_by_who_may_bind_it_alone(door: Door) -> None:
    await door.give(BOB, [WRITES])
    refused = await refusal(door.of(BOB).create(kinds.CLUSTER_ROLE_BINDINGS, binding("later", "eve")))
    assert (refused.code, refused.message) == (
        404,
        'clusterroles.rbac.authorization.k8s.io "later" not found',
    )
    await door.admin.create(kinds.CLUSTER_ROLE_BINDINGS, binding("later", "eve"))


async def test_an_aggregation_rule_needs_the_rights_of_an_administrator(door: Door) -> None:
    await door.give(BOB, [WRITES, rule("get list", "pods")])
    gathers = {"aggregationRule": {"clusterRoleSelectors": [{"matchLabels": {"a": "b"}}]}}
    refused = await refusal(door.of(BOB).create(kinds.CLUSTER_ROLES, {**POD_READER, **gathers}))
    assert refused.message == (
        'clusterroles.rbac.authorization.k8s.io "r" is forbidden: '
        "must have cluster-admin privileges to use an aggregationRule"
    )
    await door.admin.create(kinds.CLUSTER_ROLES, {**POD_READER, **gathers})
    assert (
        await refusal(door.of(BOB).patch(kinds.CLUSTER_ROLES, "r", {"aggregationRule": None}))
    ).code == 403
    carol = person("carol")
    await door.bind(carol, "cluster-admin")
    await door.of(carol).patch(kinds.CLUSTER_ROLES, "r", {"aggregationRule": None})


async def test_who_may_write_a_role_may_label_it_only_if_they_hold_it_but_may_always_let_it_go(
    door: Door,
) -> None:
    await door.give(BOB, [WRITES])
    await door.admin.create(
        kinds.CLUSTER_ROLES, {**POD_READER, "metadata": {"name": "r", "finalizers": ["a.b/c"]}}
    )
    bob = door.of(BOB)
    label = {"metadata": {"labels": {f"{RBAC}/aggregate-to-view": "true"}}}
    assert (await refusal(bob.patch(kinds.CLUSTER_ROLES, "r", label))).code == 403
    await bob.delete(kinds.CLUSTER_ROLES, "r")
    await bob.patch(kinds.CLUSTER_ROLES, "r", {"metadata": {"finalizers": None}})
    assert (await refusal(door.admin.get(kinds.CLUSTER_ROLES, "r"))).code == 404


async def test_an_invalid_role_of_an_administrator_is_still_told_what_is_wrong(door: Door) -> None:
    assert (await refusal(door.admin.create(kinds.CLUSTER_ROLES, {**POD_READER, "rules": [{}]}))).code == 422
    bad = {**binding("r", "eve"), "roleRef": {"apiGroup": RBAC, "kind": "Rule", "name": "r"}}
    await door.give(BOB, [WRITES])
    assert (await refusal(door.of(BOB).create(kinds.CLUSTER_ROLE_BINDINGS, bad))).code == 422


async def test_rules_of_a_million_pieces_are_refused_at_once(door: Door) -> None:
    await door.give(BOB, [WRITES, *(rule("get", f"r{i}") for i in range(50))])
    many = [f"x{i}" for i in range(1000)]
    wanted = [{"apiGroups": many, "resources": many, "verbs": many}]
    begun = time.process_time()
    refused = await refusal(
        door.of(BOB).create(kinds.CLUSTER_ROLES, {"metadata": {"name": "r"}, "rules": wanted})
    )
    assert refused.code == 403
    assert time.process_time() - begun < 2  # taken apart, it would be minutes
    pieces = policy_rules.uncovered([], [rule("get", " ".join(many))])
    assert len(policy_rules.described(pieces)) == policy_rules.MAX_LINES + 1
