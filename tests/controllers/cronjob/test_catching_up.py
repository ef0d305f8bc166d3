"""After longshore was down or the machine slept: what was missed, what is run, what is skipped, and why."""

from __future__ import annotations

from controllers.cronjob.cron_scene import cronjob, job, sync
from controllers.cronjob.cron_world import World
from controllers.cronjob.test_living_cronjobs import play
from longshore.api.time import rfc3339
from longshore.machinery.time.wallclock import Outage

STARTED = Outage(None, rfc3339.parse("2026-06-15T09:10:00Z"))
NOW = "2026-06-15T09:10:00.200Z"
OLD = "2026-06-10T00:00:00Z"


def told(found: object) -> list[str]:
    return [event.message for event in found.plan.events if event.reason == "CatchUp"]  # type: ignore[attr-defined]


def test_the_last_missed_time_is_run_and_the_others_are_named() -> None:
    state = cronjob(created=OLD, last="2026-06-15T02:00:00Z", timeZone="Europe/Berlin")
    found = sync(state, NOW, outage=STARTED)
    assert found.names == ["backup-29691900"]
    assert told(found) == [
        "Missed 7 scheduled times, from 2026-06-15T05:00:00+02:00 on, before longshore started at "
        "2026-06-15T11:10:00+02:00. Runs the one of 2026-06-15T11:00:00+02:00 now; skips 6 scheduled times: "
        "only the most recent missed time is started."
    ]
    assert "skips 6 scheduled times: only the most recent missed time is started" in [
        str(reason) for reason in found.plan.why
    ]


def test_a_deadline_that_rules_them_all_out_is_named() -> None:
    state = cronjob(created=OLD, last="2026-06-15T02:00:00Z", startingDeadlineSeconds=60)
    found = sync(state, NOW, outage=STARTED)
    assert found.names == []
    assert told(found) == [
        "Missed 7 scheduled times, from 2026-06-15T03:00:00Z on, before longshore started at "
        "2026-06-15T09:10:00Z. Runs none of them; skips 7 scheduled times: older than "
        "startingDeadlineSeconds (60)."
    ]


def test_forbid_is_named_when_it_holds_the_run_back() -> None:
    running = job(at="2026-06-15T02:00:00Z")
    state = cronjob(created=OLD, last="2026-06-15T02:00:00Z", active=(running,), concurrencyPolicy="Forbid")
    (text,) = told(sync(state, NOW, running, outage=STARTED))
    assert "Starts the one of 2026-06-15T09:00:00Z when job backup-29691480 ends (Forbid)" in text


def test_more_than_a_hundred_are_not_counted() -> None:
    state = cronjob("* * * * *", created=OLD, last="2026-06-14T02:00:00Z")
    (text,) = told(sync(state, NOW, outage=STARTED))
    assert text.startswith("Missed more than 100 scheduled times, from 2026-06-14T02:01:00Z on,")
    assert "skips more than 100 scheduled times" in text


def test_a_sleep_is_told_with_its_beginning_and_end() -> None:
    slept = Outage(rfc3339.parse("2026-06-15T06:30:00Z"), rfc3339.parse("2026-06-15T09:10:00Z"))
    state = cronjob(created=OLD, last="2026-06-15T06:00:00Z")
    (text,) = told(sync(state, NOW, outage=slept))
    assert text.startswith(
        "Missed 3 scheduled times, from 2026-06-15T07:00:00Z on, from 2026-06-15T06:30:00Z to "
        "2026-06-15T09:10:00Z, while this machine slept or its clock was set forward. "
    )


def test_nothing_is_said_when_nothing_was_missed_then() -> None:
    quiet = (
        cronjob(created=OLD, last="2026-06-15T09:00:00Z"),
        cronjob(created="2026-06-15T09:10:00Z", last="2026-06-12T02:00:00Z"),  # not there yet
        cronjob(created=OLD, last="2026-06-15T02:00:00Z", suspend=True),
    )
    for state in quiet:
        assert told(sync(state, NOW, outage=STARTED)) == []
    late = cronjob(created=OLD, last="2026-06-15T02:00:00Z")
    assert told(sync(late, NOW)) == []


def test_after_a_restart_each_cronjob_says_it_once() -> None:
    async def story(world: World) -> None:
        await world.cronjob("*/10 * * * *")
        async with world.running():
            await world.clock.sleep(600)
        await world.clock.sleep(3600)
        assert len(await world.jobs()) == 1
        async with world.running():
            await world.clock.sleep(10)
            assert len(await world.jobs()) == 2
            await world.change({"metadata": {"annotations": {"poke": "1"}}})
            await world.clock.sleep(700)
            (text,) = await world.events("CatchUp")
            assert text.startswith("Missed 6 scheduled times, from 2026-06-15T09:20:00Z on, before longshore")
            assert "Runs the one of 2026-06-15T10:10:00Z now; skips 5 scheduled times" in text

    play(story)
