"""Finished Jobs beyond the limits go, oldest first, before anything is started."""

from __future__ import annotations

import pytest

from controllers.cronjob.cron_scene import Server, cronjob, job, sync
from longshore.api import errors
from longshore.api.types import Obj
from longshore.controllers.cronjob.due_run_start import SCHEDULED

NOW = "2026-06-15T09:30:00Z"
LAST = "2026-06-15T09:00:00Z"


def ended(name: str, start: str | None, how: str = "Complete", done: str = "2026-06-15T06:00:00Z") -> Obj:
    return job(name, ended=how, start=start and f"2026-06-15T{start}:00Z", done=done)


def test_the_oldest_by_start_goes_first_those_without_a_start_last_and_names_decide_ties() -> None:
    jobs = [
        ended("never", None),
        ended("b", "05:00"),
        ended("a", "05:00"),
        ended("new", "07:00"),
        ended("old", "04:00"),
    ]
    state = cronjob(last=LAST, successfulJobsHistoryLimit=0)
    assert sync(state, NOW, *jobs).deleted == ["old", "a", "b", "new", "never"]
    state = cronjob(last=LAST, successfulJobsHistoryLimit=3)
    assert sync(state, NOW, *jobs).deleted == ["old", "a"]


def test_successful_and_failed_ones_are_counted_apart() -> None:
    jobs = [ended(f"good-{n}", f"0{n}:00") for n in range(3)] + [
        ended(f"bad-{n}", f"0{n}:30", "Failed") for n in range(3)
    ]
    state = cronjob(last=LAST, successfulJobsHistoryLimit=2, failedJobsHistoryLimit=1)
    found = sync(state, NOW, *jobs)
    assert found.deleted == ["good-0", "bad-0", "bad-1"]
    assert found.reasons == ["SuccessfulDelete"] * 3
    assert found.plan.events[0].message == "Deleted job good-0"


def test_running_jobs_and_interim_conditions_are_never_deleted() -> None:
    almost = job("almost")
    almost["status"] = {"conditions": [{"type": "SuccessCriteriaMet", "status": "True"}]}
    undone = job("undone")
    undone["status"] = {"conditions": [{"type": "Complete", "status": "False"}]}
    state = cronjob(
        last=LAST, active=(almost, undone), successfulJobsHistoryLimit=0, failedJobsHistoryLimit=0
    )
    assert sync(state, NOW, almost, undone).deleted == []


@pytest.mark.parametrize("limit", [0, 10, None])
def test_the_last_success_is_known_whatever_the_limit(limit: int | None) -> None:
    done = ended("done", "05:00", done="2026-06-15T05:10:00Z")
    found = sync(cronjob(last=LAST, successfulJobsHistoryLimit=limit), NOW, done)
    assert found.plan.status is not None
    assert found.plan.status["lastSuccessfulTime"] == "2026-06-15T05:10:00Z"
    assert found.deleted == (["done"] if limit == 0 else [])


def test_a_limit_that_is_not_set_keeps_its_list() -> None:
    jobs = [ended(f"good-{n}", f"0{n}:00") for n in range(5)] + [
        ended(f"bad-{n}", f"0{n}:30", "Failed") for n in range(5)
    ]
    state = cronjob(last=LAST, successfulJobsHistoryLimit=None, failedJobsHistoryLimit=4)
    assert sync(state, NOW, *jobs).deleted == ["bad-0"]
    state = cronjob(last=LAST, successfulJobsHistoryLimit=None, failedJobsHistoryLimit=None)
    assert sync(state, NOW, *jobs).deleted == []


def test_an_exhausted_quota_cannot_block_it_since_room_is_made_before_the_create() -> None:
    jobs = [ended("older", "04:00"), ended("newer", "05:00")]
    state = cronjob(last="2026-06-15T08:00:00Z", successfulJobsHistoryLimit=1)
    refused = errors.forbidden("batch", "jobs", "backup-29691900", "exceeded quota")
    server = Server(fails={("create", "backup-29691900"): refused})
    found = sync(state, NOW, *jobs, server=server)
    assert found.deleted == ["older"]
    assert found.reasons == ["SuccessfulDelete", "FailedCreate"]
    assert found.plan.problem is refused


def test_a_failed_delete_is_told_and_stops_nothing() -> None:
    jobs = [ended("one", "04:00"), ended("two", "05:00")]
    state = cronjob(last="2026-06-15T08:00:00Z", successfulJobsHistoryLimit=0)
    server = Server(fails={("delete", "one"): errors.internal("away")})
    found = sync(state, NOW, *jobs, server=server)
    assert found.deleted == ["one", "two"]
    assert found.plan.events[0] == ("Warning", "FailedDelete", "Deleted job: Internal error occurred: away")
    assert found.names == ["backup-29691900"]
    assert found.plan.problem is None


def test_what_is_deleted_leaves_the_active_list_without_being_seen_to_complete() -> None:
    done = ended("done", "05:00")
    found = sync(cronjob(last=LAST, active=(done,), successfulJobsHistoryLimit=0), NOW, done)
    assert found.reasons == ["SuccessfulDelete"]
    assert found.active == []


def test_a_delete_that_the_cache_does_not_show_yet_is_not_repeated() -> None:
    jobs = [ended("older", "04:00"), ended("newer", "05:00")]
    state = cronjob(last=LAST, successfulJobsHistoryLimit=1)
    assert sync(state, NOW, *jobs, going=frozenset({"uid-of-older"})).deleted == []


def test_it_goes_on_for_suspended_broken_and_dying_cronjobs() -> None:
    done = ended("done", "05:00")
    for state in (
        cronjob(suspend=True, successfulJobsHistoryLimit=0),
        cronjob("61 * * * *", successfulJobsHistoryLimit=0),
        cronjob(meta={"deletionTimestamp": LAST}, successfulJobsHistoryLimit=0),
    ):
        assert sync(state, NOW, done).deleted == ["done"]


def test_a_finished_run_that_the_status_does_not_know_of_is_kept_until_it_does() -> None:
    """Or a crash between the create and the status would run that time twice."""
    unrecorded = job(at="2026-06-15T09:00:00Z", ended="Complete", start="2026-06-15T09:00:01Z")
    state = cronjob(last="2026-06-15T08:00:00Z", successfulJobsHistoryLimit=0)
    found = sync(state, NOW, unrecorded)
    assert (found.names, found.deleted) == ([], [])
    assert found.active == ["backup-29691900"]
    assert found.plan.status is not None
    then = {**state, "status": found.plan.status}
    assert sync(then, NOW, unrecorded).deleted == ["backup-29691900"]


def test_an_earlier_run_of_the_minute_that_is_due_goes_as_others_do() -> None:
    """Both have the same name, and the run that is due may never start, as the CronJob is suspended."""
    done = job(at="2026-06-15T09:00:20Z", ended="Complete", start="2026-06-15T09:00:21Z")
    done["metadata"]["annotations"] = {SCHEDULED: "2026-06-15T09:00:20Z"}
    state = cronjob("@every 20s", last="2026-06-15T09:00:20Z", suspend=True, successfulJobsHistoryLimit=0)
    assert sync(state, "2026-06-15T09:00:45Z", done).deleted == ["backup-29691900"]
    unrecorded = {
        **done,
        "metadata": {**done["metadata"], "annotations": {SCHEDULED: "2026-06-15T09:00:40Z"}},
    }
    assert sync(state, "2026-06-15T09:00:45Z", unrecorded).deleted == []


def test_a_finished_run_that_no_status_knows_of_goes_though_the_cronjob_is_suspended() -> None:
    """Nobody looks at a suspended CronJob again by itself. So the run is written down first."""
    done = job(at="2026-06-15T09:00:00Z", ended="Failed", start="2026-06-15T09:00:01Z")
    state = cronjob(last="2026-06-15T08:00:00Z", suspend=True, failedJobsHistoryLimit=0)
    found = sync(state, NOW, done)
    assert (found.names, found.deleted, found.plan.look_again) == ([], [], 0.0)
    assert found.plan.status == {"lastScheduleTime": "2026-06-15T09:00:00Z"}
    assert sync({**state, "status": found.plan.status}, NOW, done).deleted == ["backup-29691900"]
