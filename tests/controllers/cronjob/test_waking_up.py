"""Which changes make the controller look at a CronJob, and how soon."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime

import pytest

from controllers.cronjob.cron_scene import NAME, UID, cronjob, job
from controllers.cronjob.cron_world import World, looks_of
from controllers.cronjob.test_living_cronjobs import play
from longshore.api.time import rfc3339
from longshore.api.types import Obj
from longshore.controllers.cronjob import DIALECT
from longshore.controllers.scheduled.handlers import CronJobHandler, JobHandler
from longshore.controllers.scheduled.memory import CronJobMemory
from longshore.controllers.scheduled.view import ScheduledView
from longshore.machinery.catalogue import Event
from longshore.machinery.informers.cache import Cache, Key
from longshore.machinery.time.clock import RealClock

KEY = ("ns", NAME)


class Queue:
    """Notes what is added, with the delay."""

    def __init__(self) -> None:
        self.added: list[tuple[Key, float]] = []

    def add(self, key: Key) -> None:
        self.added.append((key, 0.0))

    def add_after(self, key: Key, seconds: float) -> None:
        self.added.append((key, seconds))


def on_update(old: Obj, new: Obj, now: str) -> tuple[list[tuple[Key, float]], list[Event]]:
    queue, told = Queue(), []
    handler = CronJobHandler(
        DIALECT,
        queue,  # type: ignore[arg-type]
        CronJobMemory(DIALECT, RealClock(), Cache(), Cache()),
        lambda obj: ScheduledView(obj, rfc3339.parse(now)),
        lambda obj, event: told.append(event),
    )
    handler.on_update(old, new)
    return queue.added, told


def test_a_changed_template_is_looked_at_at_once() -> None:
    added, _ = on_update(cronjob(), cronjob(jobTemplate={"spec": {}}), "2026-06-15T09:59:59Z")
    assert added == [(KEY, 0.0)]


def test_the_controller_s_own_writes_are_not_looked_at_again() -> None:
    async def scene(world: World) -> None:
        await world.cronjob("*/10 * * * *")
        async with world.running() as controller:
            looks = looks_of(controller)
            await world.clock.sleep(600)
            (name,) = await world.jobs()
            assert len(looks) == 1, "the run that is due: its Job and the new status tell nothing else"
            await world.end(name)
            await world.clock.sleep(1)
            assert len(looks) == 2, "the end of the Job: again its own status"
            assert not (await world.status()).get("active")

    play(scene)


@pytest.mark.parametrize(
    ("before", "after", "seconds"),
    [
        ("30 * * * *", "*/1 * * * *", 1.1),
        ("@every 1m", "@every 3m", 121.1),
        ("@every 3m", "@every 1m", 1.1),
    ],
)
def test_a_changed_schedule_is_looked_at_when_it_next_fires(before: str, after: str, seconds: float) -> None:
    last = "2026-06-15T09:59:00Z"
    added, _ = on_update(cronjob(before, last=last), cronjob(after, last=last), "2026-06-15T09:59:59Z")
    assert added == [(KEY, pytest.approx(seconds))]


def test_a_changed_zone_counts_as_a_changed_schedule() -> None:
    created = "2026-06-14T20:00:00Z"
    old = cronjob("0 12 * * *", created=created)
    new = cronjob("0 12 * * *", created=created, timeZone="Asia/Kolkata")
    added, _ = on_update(old, new, "2026-06-15T06:00:00Z")
    assert added == [(KEY, pytest.approx(30 * 60 + 0.1))]


def test_a_schedule_changed_to_nonsense_is_told_and_not_looked_at() -> None:
    added, told = on_update(cronjob(), cronjob("61 * * * *"), "2026-06-15T09:59:59Z")
    assert added == []
    assert told == [("Warning", "UnParseableCronJobSchedule", "unparseable schedule for cronjob: 61 * * * *")]


def test_a_schedule_changed_to_one_that_never_fires_is_looked_at_at_once() -> None:
    added, _ = on_update(cronjob(), cronjob("0 0 31 2 *"), "2026-06-15T09:59:59Z")
    assert added == [(KEY, 0)]


class Known:
    """A cache that has these."""

    def __init__(self, *objects: Obj) -> None:
        self.objects = {(obj["metadata"]["namespace"], obj["metadata"]["name"]): obj for obj in objects}

    def get(self, namespace: str, name: str) -> Obj | None:
        return self.objects.get((namespace, name))


def woken(old: Obj | None, new: Obj | None) -> list[Key]:
    queue, other = Queue(), cronjob()
    other["metadata"] |= {"name": "other", "uid": "uid-of-other"}
    handler = JobHandler(
        DIALECT, queue, CronJobMemory(DIALECT, RealClock(), Cache(), Cache()), Known(cronjob(), other)
    )  # type: ignore[arg-type]
    if old is None:
        assert new is not None
        handler.on_add(new, False)
    elif new is None:
        handler.on_delete(old, False)
    else:
        handler.on_update(old, new)
    return [key for key, _ in queue.added]


def newer(obj: Obj) -> Obj:
    return {**obj, "metadata": {**obj["metadata"], "resourceVersion": "6"}}


def test_a_job_wakes_the_cronjob_that_controls_it() -> None:
    assert woken(None, job()) == [KEY]
    assert woken(job(), newer(job(ended="Complete"))) == [KEY]
    assert woken(job(), None) == [KEY]


def test_a_job_that_changes_while_it_runs_wakes_nobody() -> None:
    assert woken(job(), newer(job())) == []


def test_a_change_of_a_job_that_has_ended_wakes_its_cronjob() -> None:
    assert woken(job(ended="Complete"), newer(job(ended="Complete"))) == [KEY]


def test_a_job_that_has_not_changed_wakes_nobody() -> None:
    assert woken(job(), job()) == []


def test_a_job_that_changes_hands_wakes_both() -> None:
    moved = newer(job(owner="other", owner_uid="uid-of-other"))
    assert woken(job(), moved) == [KEY, ("ns", "other")]


def test_the_reference_must_name_this_very_cronjob() -> None:
    assert woken(None, job(owner_uid="uid-of-the-late")) == []
    assert woken(None, job(owner="nobody")) == []
    stranger = job()
    stranger["metadata"]["ownerReferences"][0]["kind"] = "CronWorkflow"
    assert woken(None, stranger) == []
    assert job()["metadata"]["ownerReferences"][0]["uid"] == UID


def test_a_new_schedule_does_not_catch_up_what_it_would_have_run_but_a_poke_does() -> None:
    async def story(world: World) -> None:
        await world.cronjob("0 8 * * *")
        async with world.running():
            await world.clock.sleep(7200)
            await world.change({"spec": {"schedule": "0 10 * * *"}})
            await world.clock.sleep(60)
            assert await world.jobs() == []
            await world.change({"metadata": {"annotations": {"poke": "1"}}})
            await world.clock.sleep(1)
            assert await world.jobs() == ["c-29691960"]

    play(story, datetime(2026, 6, 15, 9, 0, 30, tzinfo=UTC))


def test_a_poke_that_comes_together_with_a_new_schedule_is_heard_too() -> None:
    async def story(world: World) -> None:
        await world.cronjob("0 8 * * *")
        async with world.running():
            await world.clock.sleep(7200)
            await asyncio.gather(
                world.change({"spec": {"schedule": "0 10 * * *"}}),
                world.change({"metadata": {"annotations": {"poke": "1"}}}),
            )
            await world.clock.sleep(1)
            assert await world.jobs() == ["c-29691960"]

    play(story, datetime(2026, 6, 15, 9, 0, 30, tzinfo=UTC))
