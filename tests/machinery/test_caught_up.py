"""A cache that has caught up shows all that was written before, also when its watch is late or dead."""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from longshore.client.local import LocalClient
from longshore.machinery.informers.heard_objects import Handler
from longshore.machinery.informers.shared import Informers
from longshore.machinery.time import virtual
from longshore.machinery.time.virtual import VirtualClock
from machinery.beside import running
from machinery.control_plane import MAPS, api


class Late:
    """A client whose open watches tell what happens so many seconds later, or never."""

    def __init__(self, client: LocalClient, clock: VirtualClock) -> None:
        self._client, self._clock, self.seconds, self.watches = client, clock, 0.0, 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self._client, name)

    @asynccontextmanager
    async def watch(self, *arguments: Any, **options: Any) -> AsyncIterator[AsyncIterator[Any]]:
        self.watches += 1
        async with self._client.watch(*arguments, **options) as events:
            yield self._delayed(events)

    async def _delayed(self, events: AsyncIterator[Any]) -> AsyncIterator[Any]:
        fresh = self.watches > 1
        async for event in events:
            if self.seconds and not fresh:
                await self._clock.sleep(self.seconds)
            yield event


class Names(Handler):
    def __init__(self) -> None:
        self.heard: list[tuple[str, str]] = []

    def on_add(self, obj: Any, initial: bool) -> None:
        self.heard.append(("add", obj["metadata"]["name"]))

    def on_update(self, old: Any, new: Any) -> None:
        self.heard.append(("update", new["metadata"]["name"]))


@pytest.mark.parametrize(("seconds", "watches"), [(0.0, 1), (0.5, 1), (1e6, 2)])
def test_everything_that_was_written_is_there_and_read_again_only_if_the_watch_says_nothing(
    seconds: float, watches: int
) -> None:
    async def main(clock: VirtualClock) -> None:
        async with api(clock) as client:
            late = Late(client, clock)
            informers = Informers(late, clock=clock, rng=random.Random(1))  # type: ignore[arg-type] # a client
            maps = informers.get(MAPS)
            async with running(informers.run()):
                await informers.synced()
                late.seconds = seconds
                for number in range(3 if seconds != 0.5 else 1):
                    await client.create(MAPS, {"metadata": {"name": f"m{number}"}}, "ns")
                await informers.caught_up()
                assert maps.cache.get("ns", "m0") is not None
                assert len(maps.cache) == (3 if seconds != 0.5 else 1)
                assert late.watches == watches

    virtual.run(main)


def test_a_newcomer_hears_of_each_object_once_and_first_and_only_of_its_namespaces() -> None:
    async def main(clock: VirtualClock) -> None:
        async with api(clock) as client:
            await client.create(("v1", "Namespace"), {"metadata": {"name": "other"}})
            for number in range(600):
                await client.create(MAPS, {"metadata": {"name": f"m{number}"}}, "ns")
            await client.create(MAPS, {"metadata": {"name": "unheard"}}, "other")
            first = Informers(client, clock=clock, rng=random.Random(1))
            first.get(MAPS)
            async with running(first.run()):
                await first.synced()
                names, second = Names(), first.share(lambda namespace: namespace == "ns", gradually=True)
                informer = second.get(MAPS)
                informer.add_handler(names)
                assert names.heard == []
                await client.patch(MAPS, "m599", {"data": {"a": "b"}}, "ns")
                async with running(second.run()):
                    await second.synced()
                    await asyncio.sleep(1)
                    adds = [name for what, name in names.heard if what == "add"]
                    assert sorted(adds) == sorted(f"m{number}" for number in range(600))
                    assert names.heard.index(("add", "m599")) < names.heard.index(("update", "m599"))

    virtual.run(main)
