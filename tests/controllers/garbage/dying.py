"""Plays a scenario once undisturbed, then once per write and way to die, with a crash right there.

The API and what it stores live on; the controllers die at once, without a chance to tidy up, and new ones
start on the same API after a while. Whatever the write was, the end must be the same.
"""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Iterator
from typing import Any, Protocol, cast

from longshore.apiserver.api import Api, ApiParts
from longshore.client import Client
from longshore.client.local import LocalClient
from longshore.machinery.time import virtual
from longshore.machinery.time.virtual import VirtualClock
from longshore.store import Store
from longshore.testing.crashing import Death, MortalClient, every_crash


class Scenario(Protocol):
    """What is played. The same object is played many times: it keeps nothing."""

    def controllers(self, client: Client, clock: VirtualClock) -> Coroutine[Any, Any, None]:
        """Runs everything that may die, until cancelled."""

    async def script(self, client: Client, clock: VirtualClock) -> Any:
        """Plays the user on a client that never dies, and returns the end state, free of uids and times."""


def undisturbed(scenario: Scenario) -> tuple[Any, int]:
    """The end state, and how many writes the controllers need for it."""
    return virtual.run(lambda clock: played(scenario, clock))


def endings(scenario: Scenario) -> Iterator[Any]:
    """The undisturbed end state, then the one after each death at each write."""
    ending, writes = undisturbed(scenario)
    yield ending
    for last, death, away in every_crash(writes):

        async def whole(
            clock: VirtualClock, last: int = last, death: Death = death, away: float = away
        ) -> Any:
            return (await played(scenario, clock, last, death, away))[0]

        yield virtual.run(whole)


async def played(
    scenario: Scenario, clock: VirtualClock, last: int = 0, death: Death = Death.SEEN, away: float = 0.0
) -> tuple[Any, int]:
    """The end state after one death, if there is one, and how many writes the controllers made until then."""
    store = Store.open(None)
    client = LocalClient(Api(ApiParts(store, clock, clock.rng)))
    mortal = MortalClient(client, clock, last, death)
    lives: list[asyncio.Task[None]] = []

    async def live() -> None:
        lives.append(asyncio.create_task(scenario.controllers(cast("Client", mortal), clock)))
        await mortal.dead.wait()
        lives[0].cancel()  # it may wait in vain for answers: nobody waits for it
        await clock.sleep(away)
        lives.append(asyncio.create_task(scenario.controllers(client, clock)))

    living = asyncio.create_task(live())
    try:
        ending = await scenario.script(client, clock)
        for life in lives:
            if life.done() and not life.cancelled():
                life.result()  # raises why it ended
        return ending, mortal.writes
    finally:
        for task in (living, *lives):
            task.cancel()
        await asyncio.gather(living, *lives, return_exceptions=True)
        await store.close()
