"""`/healthz` and `/readyz` of controllers outside: caches, watches and the Lease, each with its age."""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from longshore.api.metrics import Registry
from longshore.client import Unreachable
from longshore.client.ask import Ask
from longshore.client.local import LocalClient
from longshore.client.source import Watching
from longshore.machinery.fence import Fence
from longshore.machinery.informers.informer import Informers
from longshore.machinery.time import virtual
from longshore.machinery.time.virtual import VirtualClock
from longshore.testing.stories import beside
from longshore.up.outside.health import Health, page
from machinery.control_plane import PODS, api


class Cut(LocalClient):
    """Its watches can be cut, and do not come back until they are mended."""

    def __init__(self, client: LocalClient) -> None:
        super().__init__(client.api)
        self.broken = asyncio.Event()

    @asynccontextmanager
    async def _events(self, ask: Ask) -> AsyncIterator[AsyncIterator[Any]]:
        if self.broken.is_set():
            raise Unreachable("the cable is out")
        async with super()._events(ask) as events:
            yield Watching(self._until_broken(events))

    async def _until_broken(self, events: AsyncIterator[Any]) -> AsyncIterator[Any]:
        breaking = asyncio.create_task(self.broken.wait())
        try:
            while True:
                coming = asyncio.ensure_future(anext(events))
                await asyncio.wait((coming, breaking), return_when=asyncio.FIRST_COMPLETED)
                if not coming.done():
                    coming.cancel()
                    await asyncio.gather(coming, return_exceptions=True)
                    raise Unreachable("the cable is out")
                yield coming.result()
        finally:
            breaking.cancel()


def test_a_watch_that_is_not_served_makes_it_unready_and_no_more() -> None:
    async def main(clock: VirtualClock) -> None:
        async with api(clock) as client:
            cut = Cut(client)
            cut.broken.set()
            informers = Informers(cut, clock=clock, rng=random.Random(1))
            user = informers.share()
            user.get(PODS)
            registry = Registry()
            health = Health(informers, None)
            health.measure(registry)
            assert not health.filled
            async with beside(user.run()):
                await clock.sleep(1)
                assert page(health.ready()) == (503, b"[-]Pod of v1: not read yet\nfailed")
                assert not health.filled
                cut.broken.clear()
                await clock.sleep(60)
                assert health.filled
                assert page(health.ready()) == (200, b"[+]Pod of v1: followed\nok")
                cut.broken.set()
                await clock.sleep(100)
                assert page(health.ready()) == (200, b"[+]Pod of v1: last served 100 s ago\nok")
                await clock.sleep(100)
                assert page(health.ready()) == (503, b"[-]Pod of v1: last served 200 s ago\nfailed")
                assert page(health.healthy()) == (200, b"ok")
                assert b'longshore_watch_unserved_seconds{resource="Pod of v1"} 200.0' in registry.text()

    virtual.run(main)


def test_the_lease_counts_for_who_leads() -> None:
    async def main(clock: VirtualClock) -> None:
        fence = Fence(clock)
        health = Health(Informers(None, clock=clock, rng=clock.rng), fence)  # type: ignore[arg-type] # unused
        assert page(health.ready()) == (200, b"[+]lease: waiting for it\nok")
        fence.renewed(clock.monotonic())
        await clock.sleep(9)
        assert page(health.ready()) == (200, b"[+]lease: renewed 9 s ago\nok")
        await clock.sleep(3)
        assert page(health.ready()) == (503, b"[-]lease: renewed 12 s ago\nfailed")
        assert page(health.healthy()) == (200, b"[+]lease: renewed 12 s ago\nok")
        await clock.sleep(60)
        assert page(health.healthy()) == (503, b"[-]lease: renewed 72 s ago\nfailed")

    virtual.run(main)
