"""Controllers that die right after any write of their choice, and start again with nothing but what is stored.

A story is first told undisturbed, counting the writes. Then once per write and way to die: `Death.UNSEEN` is a
process that ends after its write took place and before it sees the answer; `Death.SEEN` one that sees the answer,
goes on, and ends before its next write. Either way nothing that it remembered is left. Events do not count:
they are written in the background, and nothing depends on them.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Iterable
from enum import Enum
from typing import Any

from job_world import Ending, Story, World, play

from longshore.client import Client, What
from longshore.machinery import virtual
from longshore.machinery.virtual import VirtualClock

WRITES = ("create", "update", "update_status", "patch", "apply", "delete", "delete_collection")
_LINGERING_SECONDS = 2.0
"""A process that writes nothing more dies anyhow, so much later."""


class Death(Enum):
    UNSEEN = "before the answer is seen"
    SEEN = "after the answer is seen"


class Mortal:
    """A client whose `last` write is the last that ever reaches the server. `dead` is set when it dies."""

    def __init__(self, client: Client, clock: VirtualClock, last: int = 0, death: Death = Death.SEEN) -> None:
        self.writes = 0
        self.dead = asyncio.Event()
        self._client, self._clock, self._last, self._death = client, clock, last, death
        self._over = False

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._client, name)
        return self._counted(found) if name in WRITES else found

    def _counted(self, write: Callable[..., Coroutine[Any, Any, Any]]) -> Any:
        async def counted(what: What, *arguments: Any, **options: Any) -> Any:
            if self._over:
                self.dead.set()
                await _forever()
            if what == ("v1", "Event"):
                return await write(what, *arguments, **options)
            self.writes += 1
            is_last = self.writes == self._last
            if is_last:
                self._over = True
                self._clock.call_later(_LINGERING_SECONDS, self.dead.set)
            try:
                return await write(what, *arguments, **options)
            finally:
                if is_last and self._death is Death.UNSEEN:
                    self.dead.set()
                    await _forever()

        return counted


async def _forever() -> None:
    await asyncio.get_running_loop().create_future()


def undisturbed(story: Story, seed: int = 0) -> tuple[Ending, int]:
    """How the story ends, and how many writes the controllers need."""
    mortals: list[Mortal] = []

    async def life(world: World) -> None:
        mortals.append(Mortal(world.client, world.clock))
        await story.controllers(mortals[0], world.clock)  # type: ignore[arg-type] # a Client in all it does

    ended = virtual.run(lambda clock: play(clock, story, life), seed=seed)
    return ended, mortals[0].writes


def crashed(story: Story, last: int, death: Death, *, away: float = 0.0, seed: int = 0) -> Ending:
    """How the story ends when the controllers die at their `last` write and come back `away` seconds later."""

    async def life(world: World) -> None:
        mortal = Mortal(world.client, world.clock, last, death)
        first = asyncio.create_task(story.controllers(mortal, world.clock))  # type: ignore[arg-type]
        try:
            await _first_of(first, mortal.dead.wait())
            first.cancel()  # it may wait in vain for answers: nobody waits for it
            await world.clock.sleep(away)
            await story.controllers(world.client, world.clock)
        finally:
            first.cancel()
            await asyncio.gather(first, return_exceptions=True)

    return virtual.run(lambda clock: play(clock, story, life), seed=seed)


async def _first_of(task: asyncio.Task[None], other: Coroutine[Any, Any, Any]) -> None:
    """Waits for the other. A task that ends before has failed, and that is raised."""
    waiting = asyncio.create_task(other)
    try:
        await asyncio.wait((task, waiting), return_when=asyncio.FIRST_COMPLETED)
        if task.done():
            task.result()
            raise AssertionError("the controllers ended by themselves")
    finally:
        waiting.cancel()


def every_crash(writes: int) -> Iterable[tuple[int, Death, float]]:
    """Each write with each death. How long the controllers are away changes from one to the next: not at all,
    for a moment, or for so long that pods end meanwhile."""
    pauses = (0.0, 3.0, 40.0)
    for number in range(1, writes + 1):
        for death in Death:
            yield number, death, pauses[(number + (death is Death.SEEN)) % len(pauses)]
