"""The rights of service accounts, with the rights controller at work over an API in memory."""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator
from contextlib import suppress

import msgspec
import pytest

from longshore.api.facts import own_names
from longshore.api.types import Obj
from longshore.apiserver.access.authz import Access
from longshore.apiserver.request.call import User
from longshore.controllers import rights
from longshore.controllers.rights import NAME, RightsView, decide
from longshore.machinery.controller_context import ControllerContext
from longshore.machinery.time.clock import RealClock
from support.api_in_memory import Server, api_in_memory

pytestmark = pytest.mark.anyio

BINDING = ("rbac.authorization.k8s.io/v1", "RoleBinding")
ROLE = ("rbac.authorization.k8s.io/v1", "ClusterRole")


def account(namespace: str, name: str = "default") -> User:
    groups = ("system:serviceaccounts", f"system:serviceaccounts:{namespace}", "system:authenticated")
    return User(f"system:serviceaccount:{namespace}:{name}", groups)


@pytest.fixture
async def server(anyio_backend: str) -> AsyncIterator[Server]:
    async with api_in_memory() as server:
        task = asyncio.create_task(
            rights.run(ControllerContext(server.client, clock=RealClock(), rng=random.Random(1)))
        )
        await bound(server, "default")
        yield server
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task


async def bound(server: Server, namespace: str, want: bool = True) -> None:
    async with asyncio.timeout(60):
        while bool((await server.client.list(BINDING, namespace)).items) != want:  # noqa: ASYNC110 - seen from outside
            await asyncio.sleep(0.005)


@pytest.mark.parametrize(
    ("verb", "group", "resource", "allowed"),
    [
        ("list", "", "pods", True),
        ("get", "", "pods/log", True),
        ("watch", "", "events", True),
        ("get", "", "configmaps", True),
        ("create", "batch", "jobs", True),
        ("patch", "batch", "cronjobs", True),
        ("deletecollection", "batch", "jobs", True),
        ("get", "batch", "jobs/status", True),
        ("create", "batch.volcano.sh", "jobs", True),
        ("delete", "batch.volcano.sh", "jobs", True),
        ("get", "", "secrets", False),
        ("list", "", "secrets", False),
        ("create", "", "pods", False),
        ("create", "", "pods/exec", False),
        ("update", "", "configmaps", False),
        ("create", "", "serviceaccounts/token", False),
        ("update", "batch", "jobs/status", False),
        ("create", "rbac.authorization.k8s.io", "rolebindings", False),
    ],
)
async def test_an_account_may_run_batch_work_and_no_more(
    server: Server, verb: str, group: str, resource: str, allowed: bool
) -> None:
    access = Access(verb, group, resource, "x", "default")
    assert server.api.authorizer.allows(account("default", "mine"), access) is allowed


async def test_an_account_has_no_rights_in_another_namespace_or_everywhere(server: Server) -> None:
    await server.client.create(("v1", "Namespace"), {"metadata": {"name": "other"}})
    await bound(server, "other")
    allows = server.api.authorizer.allows
    assert allows(account("other"), Access("create", "batch", "jobs", "", "other"))
    assert not allows(account("other"), Access("create", "batch", "jobs", "", "default"))
    assert not allows(account("other"), Access("list", "", "pods"))


async def test_a_namespace_can_do_without_and_change_its_mind(server: Server) -> None:
    for wanted, value in ((False, "none"), (True, None)):
        mark = {"metadata": {"annotations": {own_names.WORKLOAD_RIGHTS: value}}}
        await server.client.patch(("v1", "Namespace"), "default", mark)
        await bound(server, "default", wanted)
        access = Access("list", "batch", "jobs", "", "default")
        assert server.api.authorizer.allows(account("default"), access) is wanted


async def test_a_role_that_was_changed_is_left_as_it_is(server: Server) -> None:
    await server.client.patch(ROLE, NAME, {"rules": []})
    again = asyncio.create_task(
        rights.run(ControllerContext(server.client, clock=RealClock(), rng=random.Random(1)))
    )
    await asyncio.sleep(0.05)
    again.cancel()
    await asyncio.gather(again, return_exceptions=True)
    assert not (await server.client.get(ROLE, NAME)).get("rules")


def namespace(**meta: object) -> Obj:
    return {"metadata": {"name": "a", **meta}}


def test_a_namespace_that_is_going_gets_no_binding() -> None:
    assert decide(RightsView([namespace(deletionTimestamp="2026-05-04T12:00:00Z")], {})) == []


def test_a_binding_of_this_name_that_somebody_else_made_is_not_deleted() -> None:
    theirs: Obj = {"metadata": {"name": NAME, "namespace": "a"}}
    assert (
        decide(RightsView([namespace(annotations={own_names.WORKLOAD_RIGHTS: "none"})], {"a": theirs})) == []
    )


def test_a_saved_view_gives_the_same_plan() -> None:
    unwanted = {"metadata": {"name": "b", "annotations": {own_names.WORKLOAD_RIGHTS: "none"}}}
    ours = {"metadata": {"name": NAME, "labels": {"app.kubernetes.io/managed-by": "longshore"}}}
    seen = RightsView([namespace(), unwanted], {"b": ours})
    loaded = msgspec.json.decode(msgspec.json.encode(seen), type=RightsView)
    assert loaded == seen
    plans = decide(loaded)
    assert plans == decide(seen)
    assert [reason.code for plan in plans for reason in plan.why] == ["RightsGranted", "RightsRevoked"]
