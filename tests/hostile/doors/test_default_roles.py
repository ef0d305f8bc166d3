"""The roles that exist from the first start: what each lets people do, how they gather, how they are kept."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Awaitable, Callable
from contextlib import suppress

import pytest

from longshore.api.facts import kinds
from longshore.api.types import Obj
from longshore.apiserver.request.call import ANONYMOUS, User
from longshore.controllers import aggregation
from longshore.controllers.aggregation import decide
from longshore.machinery.controller_context import ControllerContext
from longshore.machinery.time.clock import RealClock
from longshore.plane import bootstrap, default_roles
from support.door import Door, binding, person, refusal, rule

pytestmark = pytest.mark.anyio

RBAC = "rbac.authorization.k8s.io"
VIEW, EDIT, ADMIN, ALL = "view", "edit", "admin", "cluster-admin"

MATRIX = [
    # verb, resource.group, the roles that allow it in a namespace
    ("get", "pods", VIEW),
    ("watch", "jobs.batch", VIEW),
    ("list", "cronjobs.batch", VIEW),
    ("get", "pods/log", VIEW),
    ("list", "configmaps", VIEW),
    ("list", "resourcequotas", VIEW),
    ("list", "jobs.batch.volcano.sh", VIEW),
    ("get", "explanations.longshore.dev", VIEW),
    ("list", "deployments.apps", VIEW),
    ("create", "jobs.batch", EDIT),
    ("delete", "cronjobs.batch", EDIT),
    ("deletecollection", "pods", EDIT),
    ("patch", "configmaps", EDIT),
    ("get", "secrets", EDIT),
    ("create", "pods/exec", EDIT),
    ("create", "pods/eviction", EDIT),
    ("impersonate", "serviceaccounts", EDIT),
    ("create", "serviceaccounts/token", EDIT),
    ("create", "jobs.batch.volcano.sh", EDIT),
    ("update", "leases.coordination.k8s.io", EDIT),
    ("create", "deployments.apps", EDIT),
    ("create", f"roles.{RBAC}", ADMIN),
    ("delete", f"rolebindings.{RBAC}", ADMIN),
    ("create", "localsubjectaccessreviews.authorization.k8s.io", ADMIN),
    ("update", "jobs/status.batch", ALL),
    ("create", "resourcequotas", ALL),
    ("delete", "limitranges", ALL),
    ("update", "pods/status", ALL),
    ("escalate", f"roles.{RBAC}", ALL),
    ("bind", f"clusterroles.{RBAC}", ALL),
    ("impersonate", "users", ALL),
    ("patch", "nodes", ALL),
    ("create", f"clusterrolebindings.{RBAC}", ALL),
    ("create", "queues.scheduling.volcano.sh", ALL),
]
ORDER = (VIEW, EDIT, ADMIN, ALL)


@pytest.mark.parametrize("role", ORDER)
async def test_each_role_allows_what_upstreams_allows_and_no_more(door: Door, role: str) -> None:
    bob = person()
    await door.bind(bob, role, "default")
    for verb, what, least in MATRIX:
        allowed = ORDER.index(role) >= ORDER.index(least)
        assert door.may(bob, verb, what, "default") is allowed, (verb, what)
        assert not door.may(bob, verb, what, "kube-system"), (verb, what)
        assert not door.may(bob, verb, what), (verb, what)


async def test_a_cluster_admin_may_do_everything_everywhere(door: Door) -> None:
    bob = person()
    await door.bind(bob, ALL)
    for verb, what, _ in MATRIX:
        assert door.may(bob, verb, what)
        assert door.may(bob, verb, what, "kube-system")
    assert door.may(bob, "get", "/metrics")
    await door.of(bob).create(kinds.CLUSTER_ROLE_BINDINGS, binding(ALL, "eve"))
    assert door.may(person("eve"), "delete", "secrets", "default")


ACCOUNT = User("system:serviceaccount:x:y", ("system:serviceaccounts", "system:authenticated"))


@pytest.mark.parametrize(
    ("who", "allowed", "refused"),
    [
        (
            ANONYMOUS,
            "/healthz /livez /readyz /version /version/",
            "/ /api /apis /metrics /openapi/v2 /livez/ping",
        ),
        (
            person(),
            "/healthz /version /api /api/v1 /apis /apis/batch/v1 /openapi/v2 /openapi/v3/x",
            "/ /metrics",
        ),
        (ACCOUNT, "/healthz /apis/batch/v1 /openapi/v2", "/metrics /logs"),
        (person("prometheus", "system:monitoring"), "/metrics /livez/ping /readyz/ping", "/ /logs"),
    ],
)
async def test_which_paths_are_open_to_whom(door: Door, who: User, allowed: str, refused: str) -> None:
    assert {path: door.may(who, "get", path) for path in allowed.split()} == dict.fromkeys(
        allowed.split(), True
    )
    assert {path: door.may(who, "get", path) for path in refused.split()} == dict.fromkeys(
        refused.split(), False
    )
    assert not door.may(who, "post", allowed.split()[0])


async def test_everybody_may_ask_about_themselves_and_nobody_about_others(door: Door) -> None:
    asked = "authorization.k8s.io"
    for review in ("selfsubjectaccessreviews", "selfsubjectrulesreviews"):
        assert door.may(person(), "create", f"{review}.{asked}")
        assert not door.may(ANONYMOUS, "create", f"{review}.{asked}")
    assert not door.may(person(), "create", f"subjectaccessreviews.{asked}")
    delegate = person("proxy")
    await door.bind(delegate, "system:auth-delegator")
    assert door.may(delegate, "create", f"subjectaccessreviews.{asked}")
    assert door.may(delegate, "create", "tokenreviews.authentication.k8s.io")


async def test_reviews_say_by_which_binding(door: Door) -> None:
    bob = person()
    await door.bind(bob, VIEW, "default")
    asked = {"spec": {"resourceAttributes": {"verb": "list", "resource": "pods", "namespace": "default"}}}
    reviews = ("authorization.k8s.io/v1", "SelfSubjectAccessReview")
    assert (await door.of(bob).create(reviews, asked))["status"] == {
        "allowed": True,
        "reason": 'RBAC: allowed by RoleBinding "bob-view/default" of ClusterRole "view" to User "bob"',
    }


# ---- aggregation


async def test_a_new_role_with_a_label_is_gathered_and_goes_again(door: Door) -> None:
    bob = person()
    await door.bind(bob, ADMIN, "default")
    context = ControllerContext(door.admin, clock=RealClock(), rng=random.Random(1))
    running = asyncio.create_task(aggregation.run(context))
    widgets = {
        "metadata": {"name": "widgets", "labels": {f"{RBAC}/aggregate-to-view": "true"}},
        "rules": [rule("get list", "widgets", "example.com")],
    }
    try:
        await door.admin.create(kinds.CLUSTER_ROLES, widgets)
        await _until(lambda: door.may(bob, "list", "widgets.example.com", "default"))
        assert not door.may(bob, "create", "widgets.example.com", "default")
        await door.admin.delete(kinds.CLUSTER_ROLES, "widgets")
        await _until(lambda: not door.may(bob, "list", "widgets.example.com", "default"))
        assert door.may(bob, "list", "pods", "default")
        await door.admin.patch(kinds.CLUSTER_ROLES, ADMIN, {"rules": []})
        await _until(lambda: door.may(bob, "list", "pods", "default"))
    finally:
        running.cancel()
        with suppress(asyncio.CancelledError):
            await running


async def _until(happens: Callable[[], bool]) -> None:
    async with asyncio.timeout(10):
        while not happens():  # noqa: ASYNC110 - seen from outside
            await asyncio.sleep(0.005)


async def test_the_first_start_leaves_nothing_to_gather(door: Door) -> None:
    assert decide((await door.admin.list(kinds.CLUSTER_ROLES)).items) == []


def test_a_role_does_not_gather_itself_and_each_rule_once() -> None:
    same = [rule("get", "pods")]
    labels = {"metadata": {"name": "a", "labels": {"x": "y"}}, "rules": same}
    gathers = {
        "metadata": {"name": "g", "labels": {"x": "y"}},
        "rules": [rule("*", "*")],
        "aggregationRule": {
            "clusterRoleSelectors": [{"matchLabels": {"x": "y"}}, {"matchLabels": {"x": "y"}}]
        },
    }
    (plan,) = decide([gathers, labels, {**labels, "metadata": {**labels["metadata"], "name": "b"}}])  # type: ignore[dict-item]
    assert plan.rules == same
    assert decide([{**gathers, "rules": same}, labels]) == []


def test_roles_that_gather_each_other_come_to_an_end() -> None:
    def role(name: str, labels: list[str], rules: list[Obj], gathers: str = "") -> Obj:
        selectors = [{"matchLabels": {gathers: "true"}}]
        return {
            "metadata": {"name": name, "labels": dict.fromkeys(labels, "true")},
            "rules": rules,
            **({"aggregationRule": {"clusterRoleSelectors": selectors}} if gathers else {}),
        }

    pods, jobs = rule("get", "pods"), rule("get", "jobs", "batch")
    roles = {
        each["metadata"]["name"]: each
        for each in (
            role("a", ["to-b"], [], "to-a"),
            role("b", ["to-a"], [], "to-b"),
            role("jobs", ["to-b"], [jobs]),
            role("pods", ["to-a"], [pods]),
        )
    }
    for _ in range(4):
        for plan in decide(roles.values()):
            name = plan.role["metadata"]["name"]
            roles[name] = {**roles[name], "rules": plan.rules}
    assert decide(roles.values()) == []
    for name in ("a", "b"):
        assert sorted(map(str, roles[name]["rules"])) == sorted(map(str, (pods, jobs)))


# ---- at the next start


async def test_a_second_start_writes_nothing(door: Door) -> None:
    before = door.api.store.revision
    await bootstrap.objects(door.admin)
    assert door.api.store.revision == before


async def test_the_first_start_writes_all_of_them_in_one_transaction(door: Door) -> None:
    names = {role["metadata"]["name"] for role in (await door.admin.list(kinds.CLUSTER_ROLES)).items}
    assert names == {role["metadata"]["name"] for role in default_roles.CLUSTER_ROLES}
    bindings = {
        each["metadata"]["name"] for each in (await door.admin.list(kinds.CLUSTER_ROLE_BINDINGS)).items
    }
    assert bindings == {each["metadata"]["name"] for each in default_roles.CLUSTER_ROLE_BINDINGS}
    for what in (kinds.CLUSTER_ROLES, kinds.CLUSTER_ROLE_BINDINGS):
        await door.admin.delete_collection(what)
    before = door.api.store.counters.commits
    await default_roles.reconcile(door.admin)
    assert door.api.store.counters.commits == before + 1


async def test_a_start_gives_back_what_was_taken_and_takes_nothing_that_was_given(door: Door) -> None:
    own = rule("get", "widgets", "example.com")
    await door.admin.patch(kinds.CLUSTER_ROLES, "system:basic-user", {"rules": [own]})
    await door.admin.delete(kinds.CLUSTER_ROLES, "system:discovery")
    await door.admin.patch(kinds.CLUSTER_ROLE_BINDINGS, "system:discovery", {"subjects": None})
    await door.admin.patch(kinds.CLUSTER_ROLES, VIEW, {"aggregationRule": None})
    assert not door.may(person(), "get", "/api")
    await default_roles.reconcile(door.admin)
    assert door.may(person(), "get", "/api")
    assert door.may(person(), "create", "selfsubjectreviews.authentication.k8s.io")
    assert door.may(person(), "get", "widgets.example.com")
    assert "aggregationRule" in await door.admin.get(kinds.CLUSTER_ROLES, VIEW)


async def test_what_is_annotated_is_left_as_its_owner_wants_it(door: Door) -> None:
    off = {"metadata": {"annotations": {default_roles.AUTOUPDATE: "false"}}}
    await door.admin.patch(
        kinds.CLUSTER_ROLE_BINDINGS, "system:public-info-viewer", {**off, "subjects": None}
    )
    await door.admin.patch(kinds.CLUSTER_ROLES, "system:basic-user", {**off, "rules": []})
    await default_roles.reconcile(door.admin)
    assert not door.may(ANONYMOUS, "get", "/healthz")
    assert not door.may(person(), "create", "selfsubjectreviews.authentication.k8s.io")


async def test_a_default_binding_of_another_role_is_made_anew(door: Door) -> None:
    await door.admin.delete(kinds.CLUSTER_ROLE_BINDINGS, "system:monitoring")
    await door.admin.create(kinds.CLUSTER_ROLE_BINDINGS, binding("view", "eve", name="system:monitoring"))
    await default_roles.reconcile(door.admin)
    found = await door.admin.get(kinds.CLUSTER_ROLE_BINDINGS, "system:monitoring")
    assert found["roleRef"]["name"] == "system:monitoring"
    assert not door.may(person("eve"), "list", "pods", "default")


# ---- creating by other verbs


@pytest.mark.parametrize("verb", ["update", "patch"])
async def test_what_is_not_there_needs_the_right_to_create(door: Door, verb: str) -> None:
    bob = person()
    await door.give(
        bob, [rule(f"get {verb}", "configmaps leases", ""), rule(verb, "leases", "coordination.k8s.io")]
    )
    lease = {"metadata": {"name": "l"}, "spec": {}}

    def write() -> Awaitable[object]:
        client = door.of(bob)
        if verb == "patch":
            return client.apply(kinds.LEASES, lease, "default", manager="m")
        return client.update(kinds.LEASES, lease, "default")

    refused = await refusal(write())
    assert refused.message == (
        'leases.coordination.k8s.io "l" is forbidden: User "bob" cannot create resource "leases" in API '
        'group "coordination.k8s.io" in the namespace "default"'
    )
    await door.give(bob, [rule("create", "leases", "coordination.k8s.io")], "default", "creates")
    await write()


async def test_a_rule_with_names_allows_to_list_and_watch_one_by_its_field(door: Door) -> None:
    bob = person()
    await door.give(bob, [rule("list watch", "configmaps", names="mine")])
    client = door.of(bob)
    assert (await client.list(kinds.CONFIG_MAPS, "default", fields="metadata.name=mine")).items == []
    for fields in ("", "metadata.name=other", "metadata.name!=mine", "metadata.namespace=mine"):
        assert (await refusal(client.list(kinds.CONFIG_MAPS, "default", fields=fields))).code == 403


async def test_who_may_view_a_namespace_may_read_the_namespace_itself(door: Door) -> None:
    bob = person()
    await door.bind(bob, VIEW, "default")
    client = door.of(bob)
    assert (await client.get(kinds.NAMESPACES, "default"))["metadata"]["name"] == "default"
    assert (await refusal(client.list(kinds.NAMESPACES))).code == 403
    assert (await refusal(client.get(kinds.NAMESPACES, "kube-system"))).message == (
        'namespaces "kube-system" is forbidden: User "bob" cannot get resource "namespaces" in API group "" '
        'in the namespace "kube-system"'
    )
    assert (await refusal(client.delete(kinds.NAMESPACES, "default"))).code == 403


async def test_a_rules_review_tells_of_bindings_to_roles_that_are_gone(door: Door) -> None:
    bob = person()
    await door.bind(bob, "gone", "default")
    asked = {"spec": {"namespace": "default"}}
    answer = await door.of(bob).create(("authorization.k8s.io/v1", "SelfSubjectRulesReview"), asked)
    assert answer["status"]["evaluationError"] == 'clusterrole.rbac.authorization.k8s.io "gone" not found'
    assert {
        "verbs": ["get"],
        "nonResourceURLs": ["/healthz", "/livez", "/readyz", "/version", "/version/"],
    } in (answer["status"]["nonResourceRules"])
