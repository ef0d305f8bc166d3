"""The controller dies right after any of its writes, and comes back knowing nothing: the end is the same.

Each story is told once undisturbed, and then once per write and way to die; and some times more with a client
that is refused, not answered and late at random. No scheduled time may ever be run twice, whatever happens.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Coroutine
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import pytest

from controllers.cronjob.cron_world import CRONJOBS, JOBS, World, a_world
from longshore.api.types import Obj
from longshore.client import DeleteOptions
from longshore.machinery.informers.informer import Handler
from longshore.machinery.time import virtual
from longshore.machinery.time.virtual import VirtualClock
from longshore.testing.crashing import Death, MortalClient, every_crash
from longshore.testing.faulty_client import FaultyClient
from longshore.testing.stories import beside

START = datetime(2026, 6, 15, 9, 50, tzinfo=UTC)
ROUND, MINUTE = 600.0, 60.0
OPTIONS: dict[str, Any] = {"glance": 600.0}


@dataclass(frozen=True)
class Story:
    """What a person does meanwhile, how long Jobs run and how they end."""

    name: str
    tell: Callable[[World], Awaitable[None]]
    lasts: float = 2 * MINUTE
    how: Callable[[int], str] = lambda nth: "Complete"


@dataclass(frozen=True)
class Ending:
    """What is left, without times that depend on when exactly something was done."""

    cronjob: Obj
    jobs: dict[str, str]
    """How each ended, by name; empty for one that runs."""
    started: frozenset[str]
    """Every Job there ever was."""


class Started(Handler):
    """Counts every Job there ever was, by name."""

    def __init__(self) -> None:
        self.names: Counter[str] = Counter()

    def on_add(self, obj: Obj, initial: bool) -> None:
        self.names[obj["metadata"]["name"]] += 1


async def _ticks(world: World) -> None:
    await world.cronjob("*/10 * * * *", successfulJobsHistoryLimit=1)
    await world.clock.sleep(3.5 * ROUND)


async def _forbid(world: World) -> None:
    await world.cronjob("*/10 * * * *", concurrencyPolicy="Forbid")
    await world.clock.sleep(4.7 * ROUND)


async def _replace(world: World) -> None:
    await world.cronjob("*/10 * * * *", concurrencyPolicy="Replace")
    await world.clock.sleep(3.5 * ROUND)


async def _no_history(world: World) -> None:
    await world.cronjob("*/10 * * * *", successfulJobsHistoryLimit=0, failedJobsHistoryLimit=0)
    await world.clock.sleep(3.5 * ROUND)


async def _suspend(world: World) -> None:
    await world.cronjob("*/10 * * * *")
    await world.clock.sleep(1.5 * ROUND)
    await world.change({"spec": {"suspend": True}})
    await world.clock.sleep(3 * ROUND)
    await world.change({"spec": {"suspend": False}})
    await world.clock.sleep(1 * ROUND)


async def _deleted(world: World) -> None:
    await world.cronjob("*/10 * * * *", concurrencyPolicy="Forbid")
    await world.clock.sleep(1.5 * ROUND)
    for name in await world.jobs():
        await world.client.delete(JOBS, name, "ns", DeleteOptions(propagation="Background"))
    await world.clock.sleep(1 * ROUND)


async def _long_ago(world: World) -> None:
    await world.cronjob("*/10 * * * *", suspend=True)
    last = {"status": {"lastScheduleTime": "2026-06-01T00:00:00Z"}}
    await world.change(last, subresource="status")
    await world.change({"spec": {"suspend": False}})
    await world.clock.sleep(2 * ROUND)


STORIES = (
    Story("one round after the other, keeping one", _ticks),
    Story("forbid with runs longer than the interval", _forbid, lasts=11.7 * MINUTE),
    Story("replace", _replace, lasts=10 * ROUND),
    Story("nothing is kept, every other run fails", _no_history, how=lambda n: ("Complete", "Failed")[n % 2]),
    Story("runs end before the controller is back", _no_history, lasts=1.0),
    Story("suspended for three rounds", _suspend),
    Story("a person deletes the running job", _deleted, lasts=10 * ROUND),
    Story("two weeks late", _long_ago),
)


Life = Callable[[World], Coroutine[Any, Any, None]]
"""What becomes of the controller."""


async def play(clock: VirtualClock, story: Story, life: Life) -> Ending:
    started = Started()
    async with a_world(clock) as world:
        async with beside(world.hearing(started)), beside(_ending(world, story)), beside(life(world)):
            await story.tell(world)
        assert set(started.names.values()) == {1}, started.names
        return await _seen(world, started)


def undisturbed(story: Story) -> tuple[Ending, int]:
    """How it ends, and how many writes the controller needs."""
    mortals: list[MortalClient] = []

    async def life(world: World) -> None:
        mortals.append(MortalClient(world.client, world.clock))
        await world.controller(mortals[0], **OPTIONS).run()

    return virtual.run(lambda clock: play(clock, story, life), start=START), mortals[0].writes


async def _ending(world: World, story: Story) -> None:
    """Jobs end by themselves, whatever happens to the controller."""
    number = 0

    class Nth(Handler):
        def on_add(self, obj: Obj, initial: bool) -> None:
            nonlocal number
            tasks.create_task(_end(obj["metadata"]["name"], story.how(number)))
            number += 1

    async def _end(name: str, how: str) -> None:
        await world.clock.sleep(story.lasts)
        await world.end(name, how)

    async with asyncio.TaskGroup() as tasks:
        await world.hearing(Nth())


async def _lives(world: World, last: int, death: Death, away: float) -> None:
    """One life that ends at its last write, and another to the end."""
    mortal = MortalClient(world.client, world.clock, last, death)
    first = asyncio.create_task(world.controller(mortal, **OPTIONS).run())
    try:
        await mortal.dead.wait()
        first.cancel()  # it may wait in vain for answers: nobody waits for it
        await world.clock.sleep(away)
        await world.controller(**OPTIONS).run()
    finally:
        first.cancel()
        await asyncio.gather(first, return_exceptions=True)


async def _seen(world: World, started: Started) -> Ending:
    (cronjob,) = (await world.client.list(CRONJOBS, "ns")).items
    status = dict(cronjob.get("status") or {})
    status["active"] = [ref["name"] for ref in status.get("active", ())]
    status["lastSuccessfulTime"] = "lastSuccessfulTime" in status
    jobs = {}
    for job in (await world.client.list(JOBS, "ns")).items:
        conditions = job["status"].get("conditions") or [{"type": ""}]
        jobs[job["metadata"]["name"]] = conditions[-1]["type"]
    return Ending(status, jobs, frozenset(started.names))


@pytest.mark.parametrize("story", STORIES, ids=lambda story: story.name)
def test_a_controller_that_dies_at_any_write_leaves_what_one_leaves_that_does_not(story: Story) -> None:
    expected, writes = undisturbed(story)
    assert writes >= 4
    for last, death, away in every_crash(writes):

        def life(world: World, last: int = last, death: Death = death, away: float = away) -> Any:
            return _lives(world, last, death, away)

        ended = virtual.run(lambda clock, life=life: play(clock, story, life), start=START)  # type: ignore[misc]
        assert ended == expected, f"write {last} of {writes}, {death.value}, away for {away} s"


@pytest.mark.parametrize("story", STORIES, ids=lambda story: story.name)
def test_refusals_lost_answers_and_late_caches_change_nothing_that_lasts(story: Story) -> None:
    expected, _ = undisturbed(story)
    happened: Counter[str] = Counter()
    for seed in range(16):

        async def life(world: World, seed: int = seed) -> None:
            client = FaultyClient(world.client, world.clock, seed, rate=0.15)
            try:
                await world.controller(client, **OPTIONS).run()
            finally:
                happened.update(client.happened)

        ended = virtual.run(lambda clock, life=life: play(clock, story, life), start=START)  # type: ignore[misc]
        assert (ended.cronjob, ended.started) == (expected.cronjob, expected.started), f"seed {seed}"
        # A delete that failed is made up for at the next look, which may be a round away.
        assert ended.jobs.items() >= expected.jobs.items()
    assert happened["lost answer"], happened
