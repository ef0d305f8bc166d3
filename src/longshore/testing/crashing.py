"""Controllers that die right after any one of their writes, and start again with nothing but what is stored.

A story first runs undisturbed, to count its writes, and then once per write and way to die. Events do not
count: they are written in the background, and nothing depends on them.

Ordered writes are lost here as in production: the journal has those up to the last one, later ones were
answered and are lost. Without shortcuts (LONGSHORE_SHORTCUTS=off) controllers wait for each write.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Iterable
from enum import Enum
from typing import Any

from longshore.client import Client, What
from longshore.machinery.time.clock import Clock

WRITES = ("create", "update", "update_status", "patch", "apply", "delete", "delete_collection")
_LINGERING_SECONDS = 2.0
"""Seconds after which a process dies even without another write."""


class Death(Enum):
    UNSEEN = "before the answer is seen"
    """The write takes place, and the process dies before it sees the answer."""
    SEEN = "after the answer is seen"
    """The process sees the answer, continues, and dies at its next write or, with ordered writes, when it
    would wait for them. Until then further writes are answered, but lost."""


class OneByOne:
    """Base of clients that interfere with single writes: each write is waited for, and writes made together
    become single writes side by side."""

    write: Any = Client.write
    in_order: Any = Client.in_order
    durable: Any = Client.durable


class MortalClient(OneByOne):
    """A client of which only the first `last` writes reach the server; 0 means all. `dead` is set when it
    dies."""

    def __init__(self, client: Client, clock: Clock, last: int = 0, death: Death = Death.SEEN) -> None:
        self.writes = 0
        self.dead, self.over = asyncio.Event(), False
        self._client, self._clock, self._last, self._death = client, clock, last, death

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._client, name)
        return self._counted(found) if name in WRITES else found

    def in_order(self) -> Any:
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

    async def once(self, write: Coroutine[Any, Any, Any]) -> Any:
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

    def _counted(self, write: Callable[..., Coroutine[Any, Any, Any]]) -> Any:
        async def counted(what: What, *arguments: Any, **options: Any) -> Any:
            await self.live_on()
            writing = write(what, *arguments, **options)
            return await (writing if what == ("v1", "Event") else self.once(writing))

        return counted


class _MortalInOrder(OneByOne):
    """Ordered writes of a mortal client. After its last write they are answered as if they took place."""

    def __init__(self, mortal: MortalClient, client: Client) -> None:
        self._mortal, self._client = mortal, client

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._client, name)
        return self._counted(found) if name in WRITES else found

    async def durable(self) -> None:
        await self._mortal.live_on()
        await self._client.durable()

    def _counted(self, write: Callable[..., Coroutine[Any, Any, Any]]) -> Any:
        async def counted(what: What, *arguments: Any, **options: Any) -> Any:
            if self._mortal.over:
                return await write(what, *arguments, **options, dry_run=True)
            return await self._mortal.once(write(what, *arguments, **options))

        return counted


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
