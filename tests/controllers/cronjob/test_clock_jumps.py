"""Laptops sleep and clocks are set: no storm of runs, no lost day."""

from __future__ import annotations

from typing import Any

from controllers.cronjob.cron_scene import cronjob, sync
from controllers.cronjob.cron_world import World
from controllers.cronjob.test_living_cronjobs import play
from longshore.api.time import rfc3339
from longshore.machinery.time.wallclock import WallClock

HOUR = 3600.0
DAY = 24 * HOUR


class Hands:
    """A clock with two hands, the wall's and the machine's own."""

    def __init__(self) -> None:
        from datetime import UTC, datetime

        self.wall, self.ran = datetime(2026, 6, 15, 9, tzinfo=UTC), 0.0

    def now(self) -> Any:
        return self.wall

    def monotonic(self) -> float:
        return self.ran

    def advance(self, wall: float, ran: float) -> None:
        from datetime import timedelta

        self.wall += timedelta(seconds=wall)
        self.ran += ran


def seen(wall: float, ran: float) -> tuple[list[bool], WallClock]:
    hands, changes = Hands(), []
    clock = WallClock(hands, glance=5.0)  # type: ignore[arg-type]
    hands.advance(wall, ran)
    clock.look(changes.append)
    return changes, clock


def test_a_clock_that_keeps_time_is_no_news() -> None:
    assert seen(5.0, 5.0)[0] == []
    assert seen(5.4, 5.0)[0] == []
    assert seen(7.0, 7.0)[0] == []


def test_a_sleep_is_an_outage_from_the_last_glance_to_this_one() -> None:
    changes, clock = seen(8 * HOUR, 5.0)
    assert changes == [True]
    assert clock.outage == (
        rfc3339.parse("2026-06-15T09:00:00Z"),
        rfc3339.parse("2026-06-15T17:00:00Z"),
    )
    assert clock.steady_since == rfc3339.parse("2026-06-15T09:00:00Z")


def test_a_process_that_was_stopped_is_an_outage_too() -> None:
    assert seen(60.0, 60.0)[0] == [True]


def test_a_clock_set_back_begins_a_new_reckoning() -> None:
    changes, clock = seen(-DAY, 5.0)
    assert changes == [False]
    assert clock.steady_since == rfc3339.parse("2026-06-14T09:00:00Z")


def test_a_clock_set_a_little_is_looked_after_without_a_word() -> None:
    assert seen(9.0, 5.0)[0] == [False]
    assert seen(2.0, 5.0)[0] == [False]


def test_after_a_night_of_sleep_the_missed_run_starts_within_seconds_and_once() -> None:
    async def story(world: World) -> None:
        await world.cronjob("0 * * * *")
        async with world.running():
            await world.clock.sleep(60)
            world.clock.jump(8 * HOUR)  # timers do not notice
            await world.clock.sleep(6)
            assert await world.jobs() == ["c-29692380"]
            (text,) = await world.events("CatchUp")
            assert text.startswith("Missed 8 scheduled times, from 2026-06-15T10:00:00Z on, from 2026")
            await world.clock.sleep(HOUR)
            assert await world.jobs() == ["c-29692380", "c-29692440"]

    play(story)


def test_a_daily_run_that_was_slept_through_is_not_lost() -> None:
    async def story(world: World) -> None:
        await world.cronjob("0 2 * * *")
        async with world.running():
            for _ in range(3):  # awake from 9 to 17, asleep over night
                await world.clock.sleep(8 * HOUR)
                world.clock.jump(16 * HOUR)
            await world.clock.sleep(60)
        assert len(await world.jobs()) == 3

    play(story)


def test_a_clock_set_back_an_hour_repeats_nothing() -> None:
    async def story(world: World) -> None:
        await world.cronjob("*/10 * * * *", successfulJobsHistoryLimit=100)
        async with world.running():
            await world.clock.sleep(HOUR)
            before = await world.jobs()
            assert len(before) == 6
            world.clock.jump(-HOUR)
            await world.clock.sleep(HOUR - 60)
            assert await world.jobs() == before
            await world.clock.sleep(660)
            assert len(await world.jobs()) == 7

    play(story)


def test_a_clock_that_was_a_year_ahead_and_is_set_right_does_not_cost_a_year() -> None:
    async def story(world: World) -> None:
        await world.cronjob("0 * * * *")
        async with world.running():
            await world.clock.sleep(HOUR)
            world.clock.jump(365 * DAY)
            await world.clock.sleep(60)
            assert len(await world.jobs()) == 2  # one, not 8,760
            world.clock.jump(-365 * DAY)
            await world.clock.sleep(3 * HOUR)
            runs = [f"c-{29691900 + 60 * n}" for n in (1, 2, 3, 4)]
            assert await world.jobs() == [*runs, "c-30217560"]
            assert (await world.status())["lastScheduleTime"] == "2026-06-15T13:00:00Z"
            (text,) = await world.events("ClockCorrected")
            assert text.startswith("The times of this CronJob were written by a clock that was hours ahead")

    play(story)


def test_it_goes_on_even_if_longshore_was_restarted_meanwhile() -> None:
    async def story(world: World) -> None:
        world.clock.jump(365 * DAY)
        await world.cronjob("0 * * * *", "ran")
        async with world.running():
            await world.clock.sleep(HOUR)
        await world.cronjob("0 * * * *", "new")
        world.clock.jump(-365 * DAY)
        async with world.running():
            await world.clock.sleep(HOUR)
        assert await world.jobs() == ["new-29692020", "ran-29692020", "ran-30217560"]

    play(story)


def test_a_last_start_that_a_person_put_into_the_future_stands() -> None:
    by_hand = {
        "manager": "kubectl-edit",
        "subresource": "status",
        "time": "2026-06-15T08:59:00Z",
        "operation": "Update",
    }
    state = cronjob(last="2027-01-01T00:00:00Z", meta={"managedFields": [by_hand]})
    found = sync(state, "2026-06-15T12:00:01Z")
    assert (found.names, found.reasons) == ([], [])
    ahead = cronjob(
        last="2027-01-01T00:00:00Z",
        meta={"managedFields": [{**by_hand, "time": "2027-01-01T00:00:01Z"}]},
    )
    found = sync(ahead, "2026-06-15T12:00:01Z", steady_since=rfc3339.parse("2026-06-15T11:30:00Z"))
    assert found.names == ["backup-29692080"]
