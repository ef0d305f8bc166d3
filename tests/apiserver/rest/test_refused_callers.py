"""401 and 403: who gets in, and what an ordinary user may do there."""

from __future__ import annotations

import pytest

from longshore.api.errors import StatusError
from longshore.apiserver.access.authz import Access
from longshore.apiserver.request.call import User

pytestmark = pytest.mark.anyio

BOB = User("bob", ("system:authenticated",))
RBAC = "rbac.authorization.k8s.io"


async def _allow(server, rules, *, subject=None, namespace="default") -> None:
    await server.create("roles", {"metadata": {"name": "r"}, "rules": rules}, group=RBAC, namespace=namespace)
    await server.create(
        "rolebindings",
        {
            "metadata": {"name": "b"},
            "roleRef": {"apiGroup": RBAC, "kind": "Role", "name": "r"},
            "subjects": [subject or {"apiGroup": RBAC, "kind": "User", "name": "bob"}],
        },
        group=RBAC,
        namespace=namespace,
    )


async def test_a_user_without_rights_is_refused_in_kubernetes_words(server):
    with pytest.raises(StatusError) as refused:
        await server.names("jobs", group="batch", user=BOB)
    assert refused.value.code == 403
    assert refused.value.message == (
        'jobs.batch is forbidden: User "bob" cannot list resource "jobs" in API group "batch" '
        'in the namespace "default"'
    )


async def test_a_refused_write_changes_nothing(server):
    before = server.store.revision
    with pytest.raises(StatusError):
        await server.create("configmaps", {"metadata": {"name": "x"}}, user=BOB)
    assert server.store.revision == before
    assert await server.names("configmaps") == []


async def test_a_role_grants_its_verbs_on_its_resources_in_its_namespace_only(server):
    await server.create("namespaces", {"metadata": {"name": "other"}})
    await _allow(server, [{"apiGroups": ["batch"], "resources": ["jobs"], "verbs": ["list"]}])
    assert await server.names("jobs", group="batch", user=BOB) == []
    for call in (
        server.call("jobs", "list", group="batch", user=BOB, namespace="other"),
        server.call("jobs", "delete", "j", group="batch", user=BOB),
        server.call("cronjobs", "list", group="batch", user=BOB),
        server.call("jobs", "get", "j", group="batch", user=BOB, subresource="status"),
    ):
        with pytest.raises(StatusError) as refused:
            server.api.authorizer.check(call)
        assert refused.value.code == 403


async def test_resource_names_and_subresource_wildcards_are_honoured(server):
    await _allow(
        server,
        [
            {"apiGroups": [""], "resources": ["configmaps"], "resourceNames": ["mine"], "verbs": ["get"]},
            {"apiGroups": ["batch"], "resources": ["*/status"], "verbs": ["*"]},
        ],
    )
    allows = server.api.authorizer.allows
    assert allows(BOB, Access("get", "", "configmaps", "mine", "default"))
    assert not allows(BOB, Access("get", "", "configmaps", "yours", "default"))
    assert allows(BOB, Access("patch", "batch", "jobs/status", "j", "default"))
    assert not allows(BOB, Access("patch", "batch", "jobs", "j", "default"))


async def test_a_service_account_token_logs_in_as_the_account_and_ends(server):
    account = await server.create("serviceaccounts", {"metadata": {"name": "robot"}})
    answer = await server.create(
        "serviceaccounts", {"spec": {"expirationSeconds": 600}}, name="robot", subresource="token"
    )
    token, tokens = answer["status"]["token"], server.api.tokens
    user = tokens.user_of(token)
    assert user.name == "system:serviceaccount:default:robot"
    assert user.uid == account["metadata"]["uid"]
    assert "system:serviceaccounts:default" in user.groups
    await _allow(
        server,
        [{"apiGroups": [""], "resources": ["pods"], "verbs": ["list"]}],
        subject={"kind": "ServiceAccount", "name": "robot", "namespace": "default"},
    )
    assert await server.names("pods", user=user) == []
    head, _, _ = token.rpartition(".")
    assert tokens.user_of(head + ".AAAA") is None
    server.clock.seconds += 601
    assert tokens.user_of(token) is None


async def test_a_token_for_somebody_else_is_none_here(server):
    await server.create("serviceaccounts", {"metadata": {"name": "robot"}})
    wanted = {"spec": {"expirationSeconds": 600, "audiences": ["vault"]}}
    answer = await server.create("serviceaccounts", wanted, name="robot", subresource="token")
    token, tokens = answer["status"]["token"], server.api.tokens
    assert tokens.user_of(token) is None
    assert tokens.user_of(token, ("vault",)).name == "system:serviceaccount:default:robot"
    assert tokens.user_of(token, ("other",)) is None


async def test_a_token_dies_with_its_account_even_if_a_namesake_follows(server):
    await server.create("serviceaccounts", {"metadata": {"name": "robot"}})
    answer = await server.create("serviceaccounts", {}, name="robot", subresource="token")
    token = answer["status"]["token"]
    assert server.api.tokens.user_of(token) is not None
    await server.delete("serviceaccounts", "robot")
    assert server.api.tokens.user_of(token) is None
    await server.create("serviceaccounts", {"metadata": {"name": "robot"}})
    assert server.api.tokens.user_of(token) is None


async def test_wrong_tokens_are_nobody(server):
    tokens = server.api.tokens
    assert tokens.user_of("root").name == "longshore-admin"
    for wrong in ("", "roo", "root ", "a.b.c", "a" * 100_000, "ü.ü.ü", "e30.e30."):
        assert tokens.user_of(wrong) is None
