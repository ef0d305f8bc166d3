"""Watches of one resource that are cut for a while: what happens meanwhile, nobody is told of.

When sight is back a stream that asks to go on from where it was is told that its version is forgotten. All
there is then is a list: a change and its opposite were never there.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing, asynccontextmanager
from typing import TypeAlias

from longshore.client import Client, WatchEvent, What
from longshore.client.ask import Ask
from longshore.client.source import Watching
from longshore.machinery.informers.reflector import named
from longshore.machinery.time.clock import Clock
from longshore.testing.crashing import OneByOne
from longshore.testing.faulty_client import cut, forgotten

_Name: TypeAlias = tuple[str, str]


class Sight:
    """What nobody can see just now."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._losses: dict[_Name, asyncio.Event] = {}

    def lose(self, what: What, seconds: float) -> None:
        """Cuts the watches of a resource, and lets none begin before so many seconds are over."""
        name = named(what)
        if not self.is_lost(name):
            self.loss(name).set()
            self._clock.call_later(seconds, lambda: self._losses.pop(name))

    def is_lost(self, name: _Name) -> bool:
        return name in self._losses and self._losses[name].is_set()

    def loss(self, name: _Name) -> asyncio.Event:
        """Is set when sight of a resource is lost the next time."""
        return self._losses.setdefault(name, asyncio.Event())


class Shortsighted(OneByOne):
    """A client whose watches end when sight is lost."""

    def __init__(self, client: Client, sight: Sight) -> None:
        super().__init__(client)
        self._sight = sight
        self._behind: set[_Name] = set()
        """Resources of which a watch was cut, and that have not been listed since."""

    @asynccontextmanager
    async def _events(self, ask: Ask) -> AsyncIterator[Watching]:
        name = named(ask.resource)
        if self._sight.is_lost(name):
            raise cut()
        if "resourceVersion" in ask.query and name in self._behind:
            self._behind.discard(name)
            raise forgotten()
        # Closed here, not whenever the collector of garbage comes by: one seed is one run.
        async with self._client._events(ask) as events, aclosing(self._until_lost(name, events)) as seen:
            yield Watching(seen)

    async def _until_lost(
        self, name: _Name, events: AsyncIterator[WatchEvent]
    ) -> AsyncGenerator[WatchEvent, None]:
        loss = asyncio.ensure_future(self._sight.loss(name).wait())
        try:
            while True:
                event = asyncio.ensure_future(anext(events, None))
                try:
                    await asyncio.wait((event, loss), return_when=asyncio.FIRST_COMPLETED)
                finally:
                    if not event.done():
                        event.cancel()
                        await asyncio.gather(event, return_exceptions=True)
                if loss.done():
                    self._behind.add(name)
                    raise cut()
                found = event.result()
                if found is None:
                    return
                yield found
        finally:
            loss.cancel()
