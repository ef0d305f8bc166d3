"""A write that may not be sent is not, however long it waited for a connection. Reads are sent."""

from __future__ import annotations

import asyncio

import pytest

from client.http.scripted_server import Script, made
from longshore.client import Unreachable
from longshore.client.http import transport
from support.http_server import Asked, Reply, json_reply

pytestmark = pytest.mark.anyio
MAPS = ("v1", "ConfigMap")


def closed() -> None:
    raise Unreachable("the fence is closed")


async def test_a_closed_fence_stops_writes_and_no_reads(script: Script) -> None:
    script.answers = [made({"metadata": {"name": "a"}})]
    async with script.client(fence=closed) as client:
        await client.get(MAPS, "a", "ns")
        with pytest.raises(Unreachable, match="fence is closed"):
            await client.create(MAPS, {"metadata": {"name": "a"}}, "ns")
        await client.get(MAPS, "a", "ns")  # by the same connection
    assert [method for method, *_ in script.asked] == ["GET", "GET"]


async def test_a_write_that_waited_for_a_connection_is_asked_about_again(
    script: Script, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(transport, "_MAX_CONNECTIONS", 1)
    is_closed, arrived = False, asyncio.Event()
    go_on = asyncio.Event()

    def fence() -> None:
        if is_closed:
            closed()

    async def slow(request: Asked) -> Reply | None:
        arrived.set()
        await go_on.wait()
        return json_reply({"metadata": {"name": "a"}})

    script.answers = [slow]
    async with script.client(fence=fence) as client:
        first = asyncio.create_task(client.create(MAPS, {"metadata": {"name": "a"}}, "ns"))
        await arrived.wait()
        second = asyncio.create_task(client.create(MAPS, {"metadata": {"name": "b"}}, "ns"))
        await asyncio.sleep(0)
        is_closed = True
        go_on.set()
        await first
        with pytest.raises(Unreachable, match="fence is closed"):
            await second
    assert len(script.asked) == 1
