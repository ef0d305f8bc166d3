"""The controllers at work in a whole longshore, seen from outside."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import pytest

from longshore.api.errors import StatusError
from longshore.client import Client, What
from longshore.up.options import Options
from longshore.up.running import running
from support.world import found

pytestmark = pytest.mark.anyio

NAMESPACES = ("v1", "Namespace")
MAPS = ("v1", "ConfigMap")
ACCOUNTS = ("v1", "ServiceAccount")
PODS = ("v1", "Pod")


@pytest.fixture
async def client(anyio_backend: str) -> AsyncIterator[Client]:
    async with running(Options(in_memory=True, port=0)) as longshore:
        yield longshore.client


async def until(condition: Callable[[], Awaitable[Any]]) -> Any:
    """What the condition gives once that is true."""
    async with asyncio.timeout(10):
        while not (found := await condition()):  # noqa: ASYNC110 - seen from outside, there is no event
            await asyncio.sleep(0.02)
    return found


async def gone(client: Client, what: What, name: str, namespace: str = "") -> bool:
    return await found(client, what, name, namespace) is None


async def test_a_new_namespace_gets_an_account_and_the_authority(client: Client) -> None:
    await client.create(NAMESPACES, {"metadata": {"name": "team"}})
    await until(lambda: found(client, ACCOUNTS, "default", "team"))
    authority = await until(lambda: found(client, MAPS, "kube-root-ca.crt", "team"))
    assert authority["data"]["ca.crt"].startswith("-----BEGIN CERTIFICATE-----")


async def test_account_and_authority_come_back(client: Client) -> None:
    for what, name in ((ACCOUNTS, "default"), (MAPS, "kube-root-ca.crt")):
        old = await until(lambda what=what, name=name: found(client, what, name, "default"))  # type: ignore[misc]
        await client.delete(what, name, "default")
        new = await until(lambda what=what, name=name: found(client, what, name, "default"))  # type: ignore[misc]
        assert new["metadata"]["uid"] != old["metadata"]["uid"]
    await client.patch(MAPS, "kube-root-ca.crt", {"data": {"ca.crt": "forged"}}, "default")

    async def repaired() -> bool:
        return (await client.get(MAPS, "kube-root-ca.crt", "default"))["data"]["ca.crt"] != "forged"

    await until(repaired)


async def test_a_deleted_namespace_takes_its_contents_with_it(client: Client) -> None:
    await client.create(NAMESPACES, {"metadata": {"name": "team"}})
    await until(lambda: found(client, ACCOUNTS, "default", "team"))
    pod = {"metadata": {"name": "p"}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
    await client.create(PODS, pod, "team")
    await client.create(MAPS, {"metadata": {"name": "a"}}, "team")
    left = await client.delete(NAMESPACES, "team")
    assert left is not None
    assert left["status"]["phase"] == "Terminating"
    await until(lambda: gone(client, NAMESPACES, "team"))
    for what in (PODS, MAPS, ACCOUNTS):
        assert (await client.list(what, "team")).items == []


async def test_a_namespace_waits_for_finalizers_and_says_so(client: Client) -> None:
    await client.create(NAMESPACES, {"metadata": {"name": "team"}})
    held = {"metadata": {"name": "a", "finalizers": ["example.org/hold"]}}
    await client.create(MAPS, held, "team")
    await client.delete(NAMESPACES, "team")

    async def message() -> str:
        namespace = await client.get(NAMESPACES, "team")
        conditions = namespace["status"].get("conditions") or []
        shown = {c["type"]: c["message"] for c in conditions if c["status"] == "True"}
        return str(shown.get("NamespaceFinalizersRemaining", ""))

    assert await until(message) == (
        "Some content in the namespace has finalizers remaining: example.org/hold in 1 resource instances"
    )
    await client.patch(MAPS, "a", {"metadata": {"finalizers": None}}, "team")
    await until(lambda: gone(client, NAMESPACES, "team"))


async def test_other_objects_stay_while_a_pod_has_its_grace_period(client: Client) -> None:
    await client.create(NAMESPACES, {"metadata": {"name": "team"}})
    await until(lambda: found(client, ACCOUNTS, "default", "team"))
    pod = {"metadata": {"name": "p"}, "spec": {"nodeName": "n", "containers": [{"name": "c", "image": "i"}]}}
    await client.create(PODS, pod, "team")
    await client.create(MAPS, {"metadata": {"name": "a"}}, "team")
    await client.delete(NAMESPACES, "team")

    async def terminating() -> bool:
        return "deletionTimestamp" in (await client.get(PODS, "p", "team"))["metadata"]

    await until(terminating)
    await asyncio.sleep(0.2)
    assert (await client.get(MAPS, "a", "team"))["metadata"].get("deletionTimestamp") is None
    from longshore.client import DeleteOptions

    await client.delete(PODS, "p", "team", DeleteOptions(grace_period_seconds=0))
    await until(lambda: gone(client, NAMESPACES, "team"))


async def test_nothing_can_be_created_in_a_namespace_that_is_going(client: Client) -> None:
    await client.create(NAMESPACES, {"metadata": {"name": "team"}})
    held = {"metadata": {"name": "a", "finalizers": ["example.org/hold"]}}
    await client.create(MAPS, held, "team")
    await client.delete(NAMESPACES, "team")
    with pytest.raises(StatusError) as caught:
        await client.create(MAPS, {"metadata": {"name": "b"}}, "team")
    assert caught.value.code == 403
    assert caught.value.has_cause("NamespaceTerminating")
