"""Schedules and zones that cannot be used: one warning, nothing else, until somebody changes them."""

from __future__ import annotations

import pytest

from controllers.cronjob.cron_scene import Outcome, cronjob, job, sync


def warned(found: Outcome) -> str:
    """The message of the only warning, of a pass that did nothing else."""
    assert (found.names, found.plan.status, found.plan.look_again, found.plan.problem) == (
        [],
        None,
        None,
        None,
    )
    (event,) = found.plan.events
    assert event.type == "Warning"
    return f"{event.reason}: {event.message}"


@pytest.mark.parametrize("policy", ["Allow", "Forbid", "Replace"])
def test_an_unreadable_schedule(policy: str) -> None:
    found = sync(cronjob("61 * * * *", concurrencyPolicy=policy), "2026-06-15T09:01:00Z")
    assert warned(found) == (
        'UnparseableSchedule: unparseable schedule: "61 * * * *" : end of range (61) above maximum (59): 61'
    )


def test_a_zone_that_is_not_known_here() -> None:
    found = sync(cronjob(timeZone="Mars/Base"), "2026-06-15T09:01:00Z")
    assert warned(found) == 'UnknownTimeZone: invalid timeZone: "Mars/Base": unknown time zone Mars/Base'


def test_the_zone_is_looked_at_before_suspension_and_the_schedule_after_it() -> None:
    found = sync(cronjob(timeZone="Mars/Base", suspend=True), "2026-06-15T09:01:00Z")
    assert found.reasons == ["UnknownTimeZone"]
    assert sync(cronjob("61 * * * *", suspend=True), "2026-06-15T09:01:00Z").reasons == []


def test_a_schedule_that_never_fires() -> None:
    found = sync(cronjob("59 23 31 2 *"), "2026-06-15T09:01:00Z")
    assert warned(found) == (
        "InvalidSchedule: invalid schedule: 59 23 31 2 * : "
        "time difference between two schedules is less than 1 second"
    )


def test_a_schedule_whose_next_time_is_too_far_off_starts_nothing() -> None:
    """2100 is no leap year, so no search from 2097 comes to the leap day of 2104. Kubernetes' own search goes
    on from the year 1 then, and never ends."""
    found = sync(cronjob("0 0 29 2 *", created="2096-03-15T00:00:00Z"), "2097-03-15T00:00:00Z")
    assert warned(found) == (
        "InvalidSchedule: invalid schedule: 0 0 29 2 * : "
        "time difference between two schedules is less than 1 second"
    )


def test_a_zone_in_the_schedule_is_obeyed_with_a_warning_and_beats_the_field() -> None:
    state = cronjob("TZ=Asia/Tokyo 0 18 * * *", timeZone="America/New_York")
    found = sync(state, "2026-06-15T09:00:30Z")
    assert found.names == ["backup-29691900"]
    assert found.warnings == ["UnsupportedSchedule"]
    assert found.plan.events[0].message == (
        'CRON_TZ or TZ used in schedule "TZ=Asia/Tokyo 0 18 * * *" is not officially supported, see '
        "https://kubernetes.io/docs/concepts/workloads/controllers/cron-jobs/ for more details"
    )


def test_the_status_is_brought_up_to_date_all_the_same() -> None:
    ended = job(ended="Complete", start="2026-06-15T09:00:00Z", done="2026-06-15T09:00:20Z")
    for state in (
        cronjob("61 * * * *", active=(ended,)),
        cronjob(timeZone="Mars/Base", active=(ended,)),
        cronjob(suspend=True, active=(ended,)),
        cronjob(meta={"deletionTimestamp": "2026-06-15T09:00:30Z"}, active=(ended,)),
    ):
        found = sync(state, "2026-06-15T09:01:00Z", ended)
        assert found.plan.status == {"lastSuccessfulTime": "2026-06-15T09:00:20Z"}
        assert found.reasons[0] == "SawCompletedJob"
