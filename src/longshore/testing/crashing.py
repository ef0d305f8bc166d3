"""Controllers that die right after any one of their writes, and start again with nothing but what is stored.

A story first runs undisturbed, to count its writes, and then once per write and way to die. Events do not
count: they are written in the background, and nothing depends on them.

Ordered writes are lost here as in production: the journal has those up to the last one, later ones were
answered and are lost. Without shortcuts (LONGSHORE_SHORTCUTS=off) controllers wait for each write.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Iterable, Mapping
from contextlib import AbstractAsyncContextManager
from enum import Enum
from typing import Any, TypeAlias

from longshore.api.resources import Resource
from longshore.api.types import Obj
from longshore.client import Client, What
from longshore.client.ask import Ask, Page
from longshore.client.protocol import Request, Response
from longshore.client.source import Entry, Watching
from longshore.machinery.time.clock import Clock

Send: TypeAlias = Callable[[Ask], Awaitable[Any]]
"""Sends a request to the server and returns its answer."""
READS = ("get", "list")
"""The verbs of `OneByOne.reach` that are no writes."""
_LINGERING_SECONDS = 2.0
"""Seconds after which a process dies even without another write."""


class Death(Enum):
    UNSEEN = "before the answer is seen"
    """The write takes place, and the process dies before it sees the answer."""
    SEEN = "after the answer is seen"
    """The process sees the answer, continues, and dies at its next write or, with ordered writes, when it
    would wait for them. Until then further writes are answered, but lost."""


class OneByOne(Client):
    """Base of clients that interfere with the requests of another one: override `reach` and `_events`. Each
    write is waited for, and writes made together become single writes side by side."""

    def __init__(self, client: Client) -> None:
        super().__init__(client.manager)
        self._client = client
        self.page_size, self.writes_at_once = client.page_size, client.writes_at_once
        self.has_aggregation = client.has_aggregation

    async def reach(self, ask: Ask, send: Send) -> Any:
        """Makes any request but a watch, and returns the answer."""
        return await send(ask)

    async def _one(self, ask: Ask) -> Obj:
        obj: Obj = await self.reach(ask, self._client._one)
        return obj

    async def _page(self, ask: Ask) -> Page:
        page: Page = await self.reach(ask, self._client._page)
        return page

    def _events(self, ask: Ask) -> AbstractAsyncContextManager[Watching]:
        return self._client._events(ask)

    async def resource(self, what: What) -> Resource:
        return await self._client.resource(what)

    async def resources(self) -> list[Resource]:
        return await self._client.resources()

    async def _answer(self, request: Request) -> Response:
        return await self._client._answer(request)

    def log(
        self, pod: str, namespace: str, query: Mapping[str, str]
    ) -> AbstractAsyncContextManager[AsyncIterator[bytes]]:
        return self._client.log(pod, namespace, query)

    def entry(self, resource: Resource, obj: Obj) -> Entry:
        return self._client.entry(resource, obj)

    async def close(self) -> None:
        await self._client.close()


class MortalClient(OneByOne):
    """A client of which only the first `last` writes reach the server; 0 means all. `dead` is set when it
    dies."""

    def __init__(self, client: Client, clock: Clock, last: int = 0, death: Death = Death.SEEN) -> None:
        super().__init__(client)
        self.writes = 0
        self.dead, self.over = asyncio.Event(), False
        self._clock, self._last, self._death = clock, last, death

    def in_order(self) -> Client:
        inner = self._client.in_order()
        return self if inner is self._client else _MortalInOrder(self, inner)

    def spare(self) -> None:
        """Removes the limit: no write is the last."""
        self._last = 0

    async def live_on(self) -> None:
        """Blocks for ever after the last write."""
        if self.over:
            self.dead.set()
            await _forever()

    async def once(self, write: Awaitable[Any]) -> Any:
        """Counts a write and makes it. After the last write, returns its answer or dies before that."""
        self.writes += 1
        is_last = self.writes == self._last
        if is_last:
            self.over = True
            self._clock.call_later(_LINGERING_SECONDS, self.dead.set)
        try:
            return await write
        finally:
            if is_last and self._death is Death.UNSEEN:
                await self.live_on()

    async def reach(self, ask: Ask, send: Send) -> Any:
        if ask.verb in READS:
            return await send(ask)
        await self.live_on()
        return await (send(ask) if ask.resource.plural == "events" else self.once(send(ask)))


class _MortalInOrder(OneByOne):
    """Ordered writes of a mortal client. After its last write they are answered as if they took place."""

    def __init__(self, mortal: MortalClient, client: Client) -> None:
        super().__init__(client)
        self._mortal = mortal

    async def durable(self) -> None:
        await self._mortal.live_on()
        await self._client.durable()

    async def reach(self, ask: Ask, send: Send) -> Any:
        if ask.verb in READS:
            return await send(ask)
        if not self._mortal.over:
            return await self._mortal.once(send(ask))
        ask.query = {**ask.query, "dryRun": "All"}
        return await send(ask)


async def _forever() -> None:
    await asyncio.get_running_loop().create_future()


async def until_dead(work: Coroutine[Any, Any, None], mortal: MortalClient) -> None:
    """Runs controllers on a mortal client until it dies. Their later writes never reach the server."""
    task = asyncio.create_task(work)
    waiting = asyncio.create_task(mortal.dead.wait())
    try:
        await asyncio.wait((task, waiting), return_when=asyncio.FIRST_COMPLETED)
        if task.done():
            task.result()
            raise AssertionError("the controllers ended by themselves")
    finally:
        waiting.cancel()
        task.cancel()
        _dying.add(task)  # the task may wait for answers that never come, so it is not awaited
        task.add_done_callback(_dying.discard)


_dying: set[asyncio.Task[None]] = set()


def every_crash(writes: int) -> Iterable[tuple[int, Death, float]]:
    """Yields each write with each death. The time until the controllers are back varies: none, 3 s, or 40 s,
    in which pods end."""
    pauses = (0.0, 3.0, 40.0)
    for number in range(1, writes + 1):
        for death in Death:
            yield number, death, pauses[(number + (death is Death.SEEN)) % len(pauses)]
