"""The gang scheduler and an extender that is a real HTTP server, on the real clock."""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator
from typing import Any

import pytest
from aiohttp import web

from longshore.apiserver.api import Api
from longshore.client.http.posting import post
from longshore.client.local import LocalClient
from longshore.machinery.time.clock import RealClock
from longshore.store import Store
from support.scheduler_settings import FIRST, SECOND, settings
from support.scheduling_scene import PODS, QUEUES, Scene

pytestmark = pytest.mark.anyio
PATIENCE_SECONDS = 60.0


class Extender:
    """Lets tasks be on node b alone. May hang."""

    def __init__(self) -> None:
        self.hangs = False
        self.over = asyncio.Event()
        """The end of the test: a server that closes waits a minute for a handler that hangs on."""
        self.asked: list[str] = []

    async def handle(self, request: web.BaseRequest) -> web.Response:
        question = await request.json()
        self.asked.append(request.path)
        if self.hangs:
            await self.over.wait()
        return web.json_response({} if question["node"]["Name"] == "b" else {"errorMessage": "not there"})


@pytest.fixture
async def extender() -> AsyncIterator[tuple[Extender, str]]:
    made = Extender()
    runner = web.ServerRunner(web.Server(made.handle))
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    yield made, f"http://127.0.0.1:{runner.addresses[0][1]}"
    made.over.set()
    await runner.shutdown()
    await runner.cleanup()


def scene_with(url: str, clock: Any, client: LocalClient, **arguments: Any) -> Scene:
    given = {"extender.urlPrefix": url, "extender.predicateVerb": "predicate", **arguments}
    plugin = {"name": "extender", "arguments": given}
    gangs = settings(FIRST, (*SECOND, plugin), actions="enqueue, allocate, backfill")
    return Scene(client, clock, {"gangs": gangs, "post": post})


async def world() -> tuple[Any, LocalClient]:
    clock: Any = RealClock()
    clock.rng = random.Random(1)
    client = LocalClient(Api(Store.open(None), clock=clock, rng=clock.rng))
    await client.create(("v1", "Namespace"), {"metadata": {"name": "default"}})
    for queue in ("root", "default"):
        await client.create(QUEUES, {"metadata": {"name": queue}, "spec": {"weight": 1}})
        await client.patch(QUEUES, queue, {"status": {"state": "Open"}}, subresource="status")
    return clock, client


async def bound(scene: Scene, count: int) -> list[str]:
    """The nodes of so many pods, once they have them."""
    async with asyncio.timeout(PATIENCE_SECONDS), scene.client.watch(PODS, "default") as events:
        nodes: dict[str, str] = {}
        while len(nodes) < count:
            event = await anext(events)
            if node := event.object["spec"].get("nodeName"):
                nodes[event.object["metadata"]["name"]] = node
    return [*nodes.values()]


async def test_a_gang_is_placed_where_the_extender_allows_it(extender: tuple[Extender, str]) -> None:
    made, url = extender
    scene = scene_with(url, *await world(), **{"extender.httpTimeout": "30s"})
    try:
        for name in ("a", "b", "c"):
            await scene.node(name)
        await scene.gang("g", 2, 2, {"cpu": "500m"})
        assert await bound(scene, 2) == ["b", "b"]
    finally:
        await scene.stop()
    assert set(made.asked) == {"/predicate"}


async def test_one_that_hangs_is_given_up_and_ignored_if_it_may_be(extender: tuple[Extender, str]) -> None:
    made, url = extender
    made.hangs = True
    more = {"extender.httpTimeout": "50ms", "extender.ignorable": True}
    scene = scene_with(url, *await world(), **more)
    try:
        await scene.node("a")
        await scene.gang("g", 1, 1, {"cpu": "500m"})
        assert await bound(scene, 1) == ["a"]
    finally:
        await scene.stop()
