"""Plays a scenario once undisturbed, then once per write and way to die, with a crash right there.

Whatever the write was, the end must be the same.
"""

from __future__ import annotations

from collections.abc import Coroutine, Iterator
from functools import partial
from typing import Any, Protocol

from longshore.client import Client
from longshore.machinery.time.virtual import VirtualClock
from longshore.testing import Telling, every_crash
from support.world import World, opened


class Scenario(Protocol):
    """What is played. The same object is played many times: it keeps nothing."""

    def controllers(self, client: Client, clock: VirtualClock) -> Coroutine[Any, Any, None]:
        """Runs everything that may die, until cancelled."""

    async def script(self, client: Client, clock: VirtualClock) -> Any:
        """Plays the user on a client that never dies, and returns the end state, free of uids and times."""


class _Stage(World):
    end: Any


def telling(scenario: Scenario) -> Telling[_Stage, Any]:
    async def tell(stage: _Stage) -> None:
        stage.end = await scenario.script(stage.client, stage.clock)

    async def ending(stage: _Stage) -> Any:
        return stage.end

    return Telling(partial(opened, _Stage), tell, scenario.controllers, ending, quiet=0.0)


def endings(scenario: Scenario) -> Iterator[Any]:
    """The undisturbed end state, then the one after each death at each write."""
    told = telling(scenario)
    ending, writes = told.undisturbed()
    yield ending
    for last, death, away in every_crash(writes):
        yield told.crashed(last, death, away)
