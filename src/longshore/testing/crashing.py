"""Controllers that die right after any one of their writes, and start again with nothing but what is stored.

First something is done undisturbed, to count the writes. Then once per write and way to die. Events do not
count: they are written in the background, and nothing depends on them.

Writes that the controllers pipeline are pipelined here too, and a pipeline dies as it does in production:
the first so many of its writes are in the journal, those behind them were answered and are lost. Without
shortcuts (LONGSHORE_SHORTCUTS=off) each write is waited for.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Iterable, Sequence
from enum import Enum
from typing import Any, Self

from longshore.api.errors import StatusError
from longshore.api.types import Obj
from longshore.client import Client, PatchType, Unreachable, What, in_process
from longshore.machinery.time.clock import Clock

WRITES = ("create", "update", "update_status", "patch", "apply", "delete", "delete_collection")
_LINGERING_SECONDS = 2.0
"""A process that writes nothing more dies anyhow, so much later."""


class Death(Enum):
    UNSEEN = "before the answer is seen"
    """The write takes place, and the process ends."""
    SEEN = "after the answer is seen"
    """The process sees the answer, goes on, and ends when it would write again; in a pipeline, when it would
    wait for what it wrote. Until then further writes are answered, and lost."""


class OneByOne:
    """For clients that interfere with single writes: each is waited for, and those made together are single
    ones, side by side."""

    create: Callable[..., Coroutine[Any, Any, Any]]
    patch: Callable[..., Coroutine[Any, Any, Any]]

    def pipelined(self) -> Self:
        return self

    async def settled(self) -> None:
        """Each was waited for."""

    async def create_together(
        self, what: What, objs: Sequence[Obj], namespace: str = "", *, slowly: bool = False
    ) -> list[Any]:
        made: list[Any] = []
        size = 1 if slowly else len(objs)
        while len(made) < len(objs) and not any(isinstance(one, Exception) for one in made):
            some = objs[len(made) : len(made) + size]
            made += await _each([self.create(what, obj, namespace) for obj in some])
            size *= 2
        return made

    async def patch_together(
        self, what: What, names: Sequence[str], patch: Any, namespace: str = "", *, type: PatchType
    ) -> list[Any]:
        return await _each([self.patch(what, name, patch, namespace, type=type) for name in names])


async def _each(writes: list[Coroutine[Any, Any, Any]]) -> list[Any]:
    results = await asyncio.gather(*writes, return_exceptions=True)
    for result in results:
        if isinstance(result, BaseException) and not isinstance(result, StatusError | Unreachable):
            raise result
    return results


class MortalClient(OneByOne):
    """A client whose `last` write is the last that ever reaches the server. `dead` is set when it dies."""

    def __init__(self, client: Client, clock: Clock, last: int = 0, death: Death = Death.SEEN) -> None:
        self.writes = 0
        self.dead = asyncio.Event()
        self._client, self._clock, self._last, self._death = client, clock, last, death
        self._over = False

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._client, name)
        return self._counted(found) if name in WRITES else found

    def pipelined(self) -> Any:
        inner, settled = in_process.pipeline(self._client)
        return self if inner is self._client else _MortalPipeline(self, inner, settled)

    def spare(self) -> None:
        """Lets it live on: no write is its last."""
        self._last = 0

    async def live_on(self) -> None:
        """Does not come back if the process has made its last write."""
        if self._over:
            self.dead.set()
            await _forever()

    async def once(self, write: Coroutine[Any, Any, Any]) -> Any:
        """Makes a write that counts; if it is the last, what remains is to see the answer or not."""
        self.writes += 1
        is_last = self.writes == self._last
        if is_last:
            self._over = True
            self._clock.call_later(_LINGERING_SECONDS, self.dead.set)
        try:
            return await write
        finally:
            if is_last and self._death is Death.UNSEEN:
                await self.live_on()

    @property
    def over(self) -> bool:
        return self._over

    def _counted(self, write: Callable[..., Coroutine[Any, Any, Any]]) -> Any:
        async def counted(what: What, *arguments: Any, **options: Any) -> Any:
            await self.live_on()
            writing = write(what, *arguments, **options)
            return await (writing if what == ("v1", "Event") else self.once(writing))

        return counted


class _MortalPipeline(OneByOne):
    """The pipeline of a mortal client. Once that is over, writes are answered as if they took place."""

    def __init__(self, mortal: MortalClient, pipeline: Client, settled: in_process.Settled) -> None:
        self._mortal, self._pipeline, self._settled = mortal, pipeline, settled

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._pipeline, name)
        return self._counted(found) if name in WRITES else found

    async def settled(self) -> None:
        await self._mortal.live_on()
        await self._settled()

    def _counted(self, write: Callable[..., Coroutine[Any, Any, Any]]) -> Any:
        async def counted(what: What, *arguments: Any, **options: Any) -> Any:
            if self._mortal.over:
                return await write(what, *arguments, **options, dry_run=True)
            return await self._mortal.once(write(what, *arguments, **options))

        return counted


async def _forever() -> None:
    await asyncio.get_running_loop().create_future()


async def until_dead(work: Coroutine[Any, Any, None], mortal: MortalClient) -> None:
    """Runs controllers on a mortal client until it dies. What they still do then reaches nobody."""
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
        _dying.add(task)  # it may wait a while for answers that never come; nobody waits for it
        task.add_done_callback(_dying.discard)


_dying: set[asyncio.Task[None]] = set()


def every_crash(writes: int) -> Iterable[tuple[int, Death, float]]:
    """Each write with each death. How long the controllers are away changes from one to the next: not at all,
    for a moment, or for so long that pods end meanwhile."""
    pauses = (0.0, 3.0, 40.0)
    for number in range(1, writes + 1):
        for death in Death:
            yield number, death, pauses[(number + (death is Death.SEEN)) % len(pauses)]
