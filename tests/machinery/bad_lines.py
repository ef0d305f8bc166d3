"""A line that is late and breaks, and a client that leaves out what nobody wants, as the HTTP client does."""

from __future__ import annotations

import random
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from longshore.api.errors import StatusError
from longshore.client import Unreachable, WatchEvent
from longshore.client.ask import Page
from longshore.client.local import LocalClient
from longshore.client.protocol import Only
from longshore.machinery.time.virtual import VirtualClock


class BadLine:
    """Watches tell up to `late` seconds later what happens, pages come as late, and one of so many events or
    pages is an error instead, while `breaks`."""

    def __init__(self, client: LocalClient, clock: VirtualClock, rng: random.Random, late: float) -> None:
        self._client, self._clock, self._rng, self.late, self.breaks = client, clock, rng, late, 0
        self.told = 0
        """Objects that came."""

    def __getattr__(self, name: str) -> Any:
        return getattr(self._client, name)

    async def pages(
        self, what: Any, *args: Any, only: Only | None = None, **more: Any
    ) -> AsyncIterator[Page]:
        async for page in self._client.pages(what, *args, **more):
            await self._wait()
            wanted = [obj for obj in page.items if only is None or only(obj["metadata"]["namespace"])]
            self.told += len(wanted)
            yield Page(wanted, page.resource_version, page.more, page.anew)

    @asynccontextmanager
    async def watch(self, *args: Any, only: Only | None = None, **more: Any) -> AsyncIterator[Any]:
        async with self._client.watch(*args, **more) as events:
            yield self._sifted(events, only)

    async def _sifted(
        self, events: AsyncIterator[WatchEvent], only: Only | None
    ) -> AsyncIterator[WatchEvent]:
        async for event in events:
            await self._wait()
            namespace = event.object["metadata"].get("namespace")
            if only is not None and namespace and not only(namespace):
                yield WatchEvent("BOOKMARK", {"metadata": {"resourceVersion": event.resource_version}})
            else:
                self.told += bool(namespace)
                yield event

    async def _wait(self) -> None:
        await self._clock.sleep(self._rng.random() * self.late)
        if self.breaks and not self._rng.randrange(self.breaks):
            raise self._rng.choice((StatusError(410, "Expired", "too old"), Unreachable("connection reset")))
