"""Which scheduled time is started, and when the controller looks again."""

from __future__ import annotations

import pytest

from controllers.cronjob.cron_scene import cronjob, job, sync

SOON = 0.1
"""Every wake-up comes a tenth of a second after the scheduled time."""


def test_nothing_starts_before_the_hour_and_the_next_look_is_just_after_it() -> None:
    found = sync(cronjob(), "2026-06-15T08:59:00Z")
    assert found.names == []
    assert found.plan.status is None
    assert found.plan.look_again == pytest.approx(60 + SOON)


def test_what_came_due_is_started_once_and_the_status_says_so() -> None:
    found = sync(cronjob(), "2026-06-15T09:01:00Z")
    assert found.names == ["backup-29691900"]
    assert found.reasons == ["SuccessfulCreate"]
    assert found.plan.events[0].message == "Created job backup-29691900"
    assert found.plan.look_again == pytest.approx(59 * 60 + SOON)
    assert found.plan.lateness == 60
    assert found.plan.status == {
        "active": [
            {
                "kind": "Job",
                "namespace": "ns",
                "name": "backup-29691900",
                "uid": "uid-of-backup-29691900",
                "apiVersion": "batch/v1",
                "resourceVersion": "9",
            }
        ],
        "lastScheduleTime": "2026-06-15T09:00:00Z",
    }


def test_a_time_that_was_started_is_not_started_again() -> None:
    running = job(at="2026-06-15T09:00:00Z")
    for state in (
        cronjob(last="2026-06-15T09:00:00Z", active=(running,)),
        cronjob(last="2026-06-15T08:00:00Z", active=(running,)),
        cronjob(last="2026-06-15T09:00:00Z"),
    ):
        jobs = (running,) if state["status"].get("active") else ()
        found = sync(state, "2026-06-15T09:01:00Z", *jobs)
        assert found.names == []
        assert found.plan.look_again == pytest.approx(59 * 60 + SOON)


def test_a_suspended_one_starts_nothing_and_leaves_the_running_job_alone() -> None:
    running = job()
    found = sync(
        cronjob(suspend=True, active=(running,), last="2026-06-15T09:00:00Z"),
        "2026-06-15T10:01:00Z",
        running,
    )
    assert (found.names, found.deleted, found.reasons) == ([], [], [])
    assert found.plan.status is None
    assert found.plan.look_again is None


def test_one_that_is_being_deleted_starts_nothing() -> None:
    going = cronjob(meta={"deletionTimestamp": "2026-06-15T09:00:30Z"})
    found = sync(going, "2026-06-15T09:01:00Z")
    assert found.names == []
    assert found.plan.look_again is None


def test_past_the_deadline_nothing_starts_and_nobody_is_told() -> None:
    found = sync(cronjob(startingDeadlineSeconds=10), "2026-06-15T09:01:00Z")
    assert (found.names, found.reasons) == ([], [])
    assert found.plan.look_again == pytest.approx(59 * 60 + SOON)
    assert str(found.plan.skipped[0].why).endswith(": older than startingDeadlineSeconds (10)")


def test_within_the_deadline_it_starts() -> None:
    assert sync(cronjob(startingDeadlineSeconds=61), "2026-06-15T09:01:00Z").names == ["backup-29691900"]


def test_a_deadline_of_zero_never_starts_anything() -> None:
    found = sync(cronjob(startingDeadlineSeconds=0), "2026-06-15T09:00:00.100Z")
    assert found.names == []
    assert sync(cronjob(startingDeadlineSeconds=1), "2026-06-15T09:00:00.100Z").names


@pytest.mark.parametrize("deadline", [None, 1_000_000])
def test_a_week_late_exactly_one_job_starts_with_a_warning(deadline: int | None) -> None:
    state = cronjob(last="2026-06-08T09:00:00Z", startingDeadlineSeconds=deadline)
    found = sync(state, "2026-06-15T09:00:00Z")
    assert found.names == ["backup-29691900"]
    assert found.warnings == ["TooManyMissedTimes"]
    assert found.plan.events[0].message == (
        "too many missed start times. Set or decrease .spec.startingDeadlineSeconds or check clock skew"
    )
    assert found.plan.look_again == pytest.approx(3600 + SOON)


@pytest.mark.parametrize("deadline", [7200, 10])
def test_a_week_late_with_a_short_deadline_one_job_starts_without_a_warning(deadline: int) -> None:
    state = cronjob(last="2026-06-08T09:00:00Z", startingDeadlineSeconds=deadline)
    found = sync(state, "2026-06-15T09:00:00Z")
    assert found.names == ["backup-29691900"]
    assert found.warnings == []


def test_after_the_clock_moved_back_the_job_of_the_coming_hour_is_left_as_it_is() -> None:
    early = job(at="2026-06-15T10:00:00Z", ended="Complete", start="2026-06-15T10:00:00Z")
    state = cronjob(last="2026-06-15T09:00:00Z", last_success="2026-06-15T10:00:00Z")
    found = sync(state, "2026-06-15T09:59:00Z", early)
    assert (found.names, found.plan.problem) == ([], None)
    assert found.plan.look_again == pytest.approx(60 + SOON)


def test_every_counts_from_the_creation_and_then_from_the_last_start() -> None:
    found = sync(cronjob("@every 1h", created="2026-06-15T09:59:00Z"), "2026-06-15T10:00:00Z")
    assert found.plan.look_again == pytest.approx(59 * 60 + SOON)
    week = cronjob("@every 1h", last="2026-06-08T10:01:00Z")
    found = sync(week, "2026-06-15T10:00:00Z")
    assert found.plan.status is not None
    assert found.plan.status["lastScheduleTime"] == "2026-06-15T09:01:00Z"
    assert found.warnings == ["TooManyMissedTimes"]
    assert found.plan.look_again == pytest.approx(60 + SOON)


def test_every_with_a_deadline_shorter_than_itself_is_not_started_as_in_kubernetes() -> None:
    state = cronjob("@every 1h", last="2026-06-15T09:00:00Z", startingDeadlineSeconds=10)
    assert sync(state, "2026-06-15T10:00:00.100Z").names == []
    state = cronjob("@every 1h", last="2026-06-15T09:00:00Z", startingDeadlineSeconds=3600)
    assert sync(state, "2026-06-15T10:00:00.100Z").names == ["backup-29691960"]


def test_irregular_schedules_can_lose_runs_and_the_reason_is_on_record() -> None:
    friday = cronjob("0 9-17 * * 1-5", last="2026-06-12T09:00:00Z", created="2026-06-01T00:00:00Z")
    found = sync(friday, "2026-06-14T12:00:00Z")
    assert found.names == []
    (why,) = (str(skipped.why) for skipped in found.plan.skipped)
    assert why == (
        "skips 8 scheduled times: the search for the most recent one goes back about two intervals, "
        "and found none there"
    )


def test_what_is_passed_over_is_on_record_with_its_rule() -> None:
    state = cronjob(
        last="2026-06-15T03:00:00Z", startingDeadlineSeconds=3 * 3600, created="2026-06-01T00:00:00Z"
    )
    found = sync(state, "2026-06-15T09:00:01Z")
    assert found.names == ["backup-29691900"]
    assert [str(skipped.why) for skipped in found.plan.skipped] == [
        "skips 3 scheduled times: older than startingDeadlineSeconds (10800)",
        "skips 2 scheduled times: only the most recent missed time is started",
    ]


def test_a_schedule_without_a_zone_is_read_in_the_zone_of_the_process() -> None:
    from longshore.api import cron

    state = cronjob("0 11 * * *")
    assert sync(state, "2026-06-15T09:00:01Z").names == []
    assert sync(state, "2026-06-15T09:00:01Z", zone=cron.load("Europe/Berlin")).names == ["backup-29691900"]
    mine = cronjob("0 9 * * *", timeZone="Etc/UTC")
    assert sync(mine, "2026-06-15T09:00:01Z", zone=cron.load("Europe/Berlin")).names == ["backup-29691900"]
