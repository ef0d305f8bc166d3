"""Plays stories on the virtual clock: undisturbed, or with controllers that die once or repeatedly.

Shared by the worlds of different controllers. A world defines what happens in a story and what is compared at
its end; this module decides how often the controllers die.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass
from typing import Any, Generic, Protocol, TypeVar

from longshore.apiserver.api import Api, ApiParts
from longshore.client import Client
from longshore.client.local import LocalClient
from longshore.machinery.time import virtual
from longshore.machinery.time.virtual import VirtualClock
from longshore.store import Store
from longshore.testing.crashing import Death, MortalClient, until_dead

NS = "ns"

Controllers = Callable[[Client, VirtualClock], Coroutine[Any, Any, None]]
"""Runs controllers on a client until cancelled."""


class AWorld(Protocol):
    """The methods of a world that stories use."""

    api: Api
    client: LocalClient
    clock: VirtualClock


W = TypeVar("W", bound=AWorld)
E = TypeVar("E")
Life = Callable[[W], Coroutine[Any, Any, None]]


@dataclass(frozen=True)
class Telling(Generic[W, E]):
    """One story: its world, what happens in it, its controllers, and a function that returns its end."""

    world: Callable[[VirtualClock], AbstractAsyncContextManager[W]]
    tell: Callable[[W], Awaitable[None]]
    controllers: Controllers
    ending: Callable[[W], Awaitable[E]]
    quiet: float
    """Seconds without a write after which the story has ended."""

    def told(self, life: Life[W], seed: int = 0) -> E:
        """Plays the story while `life` runs its controllers; returns the end of the story."""

        async def play(clock: VirtualClock) -> E:
            async with self.world(clock) as world:
                async with beside(life(world)):
                    await self.tell(world)
                    await quiet(world, self.quiet)
                return await self.ending(world)

        return virtual.run(play, seed=seed)

    def undisturbed(self) -> tuple[E, int]:
        """Plays the story undisturbed; returns its end and the number of the controllers' writes."""
        writes: list[MortalClient] = []

        async def life(world: W) -> None:
            writes.append(MortalClient(world.client, world.clock))
            await self.controllers(writes[0], world.clock)

        return self.told(life), writes[0].writes

    def crashed(self, last: int, death: Death, away: float) -> E:
        """Plays the story with controllers that die at write `last` and come back `away` seconds later."""
        died: list[int] = []

        async def life(world: W) -> None:
            mortal = MortalClient(world.client, world.clock, last, death)
            await until_dead(self.controllers(mortal, world.clock), mortal)
            died.append(mortal.writes)
            await world.clock.sleep(away)
            await self.controllers(world.client, world.clock)

        ended = self.told(life)
        assert died == [last], f"there was no write {last} in this run"
        return ended

    def crashed_for_ever(self, every: int, death: Death) -> E:
        """Plays the story with controllers that die at each `every`-th write."""

        async def life(world: W) -> None:
            while True:
                mortal = MortalClient(world.client, world.clock, every, death)
                await until_dead(self.controllers(mortal, world.clock), mortal)

        return self.told(life)


async def quiet(world: AWorld, seconds: float) -> None:
    """Waits until nothing is written for `seconds`."""
    seen = -1
    while seen != (seen := world.api.store.revision):
        await world.clock.sleep(seconds)


@asynccontextmanager
async def an_api(
    clock: VirtualClock, store: Store | None = None, **parts: Any
) -> AsyncIterator[tuple[Api, LocalClient]]:
    """An API in memory, with these parts, and one namespace in which pods may be made."""
    store = store or Store.open(None)
    api = Api(ApiParts(store, clock, clock.rng, **parts))
    client = LocalClient(api)
    await client.create(("v1", "Namespace"), {"metadata": {"name": NS}})
    await client.create(("v1", "ServiceAccount"), {"metadata": {"name": "default"}}, NS)
    try:
        yield api, client
    finally:
        await store.close()


@asynccontextmanager
async def beside(work: Coroutine[Any, Any, None]) -> AsyncIterator[None]:
    """Runs a task during the block. An error in the task ends the block, too."""
    try:
        async with asyncio.TaskGroup() as tasks:
            task = tasks.create_task(work)
            try:
                yield
            finally:
                task.cancel()
    except BaseExceptionGroup as group:
        if len(group.exceptions) > 1:
            raise
        raise group.exceptions[0] from None
