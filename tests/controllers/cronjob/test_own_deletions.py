"""A Job that the controller has deleted itself is no news when it goes: the look that deleted it knew."""

from __future__ import annotations

import random
from datetime import UTC, datetime

import pytest

from controllers.cronjob.cron_scene import NAME, Server, cronjob, job, sync
from controllers.cronjob.cron_world import World, looks_of
from controllers.cronjob.test_living_cronjobs import play
from longshore.api.types import Obj
from longshore.controllers.cronjob import DIALECT
from longshore.controllers.scheduled.handlers import JobHandler
from longshore.controllers.scheduled.memory import CronJobMemory
from longshore.controllers.scheduled.view import Ask
from longshore.machinery.informers.cache import Cache, Key
from longshore.machinery.queues.workqueue import WorkQueue
from longshore.machinery.time.clock import RealClock

KEY = ("ns", NAME)
NOW = "2026-06-15T09:30:00Z"


def random_jobs(dice: random.Random) -> list[Obj]:
    """Jobs of the last hours, in every state."""
    made = []
    for hour in dice.sample(range(9), dice.randint(0, 6)):
        at = f"2026-06-15T0{hour}:00:00Z"
        ended = dice.choice(["", "Complete", "Failed"])
        made.append(job(at=at, start=dice.choice([at, None]), ended=ended, done=f"2026-06-15T0{hour}:10:00Z"))
    return made


@pytest.mark.parametrize("seed", range(200))
def test_a_look_at_the_end_of_an_own_deletion_decides_nothing_that_the_last_one_did_not(seed: int) -> None:
    dice = random.Random(seed)
    there = random_jobs(dice)
    listed = [each for each in there if dice.random() < 0.4]
    gone = job("gone", at="2026-06-15T07:30:00Z", ended=dice.choice(["", "Complete", "Failed"]))
    policy = dice.choice(["Allow", "Forbid", "Replace"])
    options = {"concurrencyPolicy": policy, "suspend": dice.random() < 0.2}
    last = dice.choice(["2026-06-15T09:00:00Z", "2026-06-15T08:00:00Z", None])
    before = cronjob(active=tuple(listed), last=last, last_success="2026-06-15T09:20:00Z", **options)
    uid = gone["metadata"]["uid"]
    first = sync(before, NOW, *there, gone, server=server_of(there), going=frozenset((uid,)))
    second = sync(before, NOW, *there, server=server_of(there))
    assert first.asked == second.asked
    assert first.plan == second.plan


def server_of(jobs: list[Obj]) -> Server:
    return Server(jobs={each["metadata"]["name"]: each for each in jobs})


@pytest.mark.parametrize(("listed", "looked_at"), [(False, False), (True, True)])
def test_it_wakes_the_cronjob_only_while_the_active_list_has_it(listed: bool, looked_at: bool) -> None:
    deleted, cronjobs, jobs = job(ended="Complete"), Cache(), Cache()
    cronjobs.put(KEY, cronjob(active=(deleted,) if listed else ()))
    jobs.put(("ns", deleted["metadata"]["name"]), deleted)
    memory, queue = CronJobMemory(DIALECT, RealClock(), cronjobs, jobs), WorkQueue[Key](RealClock())
    memory.deleted(KEY, Ask("delete", "Job", deleted["metadata"]["name"], deleted["metadata"]["uid"]))
    handler = JobHandler(DIALECT, queue, memory, cronjobs)
    handler.on_delete(deleted, False)
    assert bool(len(queue)) is looked_at
    assert memory.going(KEY) == frozenset()
    handler.on_delete(deleted, False)
    assert len(queue) == 1, "by now somebody else has deleted it"


def test_a_run_with_a_full_history_takes_two_looks() -> None:
    async def scene(world: World) -> None:
        await world.cronjob("*/10 * * * *", successfulJobsHistoryLimit=1)
        async with world.running() as controller:
            for _ in range(2):
                await world.clock.sleep(600)
                await world.end((await world.jobs())[-1])
                await world.clock.sleep(1)
            looks = looks_of(controller)
            await world.clock.sleep(600)
            names = await world.jobs()
            await world.end(names[-1])
            await world.clock.sleep(1)
            assert await world.jobs() == names[-1:]
            assert len(looks) == 2, "the run that is due, and its end"

    play(scene, datetime(2026, 6, 15, 9, 0, 30, tzinfo=UTC))
