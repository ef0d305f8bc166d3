"""A run is due and the one before still runs: Allow, Forbid, Replace."""

from __future__ import annotations

import pytest

from controllers.cronjob.cron_scene import Server, cronjob, job, sync
from longshore.api import errors
from longshore.controllers.cronjob.due_run_start import SCHEDULED

OLD = job(at="2026-06-15T08:00:00Z")
OLDER = job(at="2026-06-15T07:00:00Z")
LAST = "2026-06-15T08:00:00Z"
NOW = "2026-06-15T09:00:01Z"
NEW = "backup-29691900"
OLD_NAME = "backup-29691840"


def test_allow_starts_the_new_one_beside_the_old() -> None:
    found = sync(cronjob(last=LAST, active=(OLD,)), NOW, OLD)
    assert (found.names, found.deleted) == ([NEW], [])
    assert found.active == [OLD_NAME, NEW]


def test_forbid_starts_nothing_and_keeps_the_time_due() -> None:
    found = sync(cronjob(last=LAST, active=(OLD,), concurrencyPolicy="Forbid"), NOW, OLD)
    assert (found.names, found.plan.status) == ([], None)
    (event,) = found.plan.events
    assert event == (
        "Normal",
        "JobAlreadyActive",
        "Not starting job because prior execution is running and concurrency policy is Forbid",
    )
    assert found.plan.look_again == pytest.approx(3599.1)
    assert "Forbid" in found.plan.why[-1].words


def test_forbid_starts_the_waiting_run_as_soon_as_the_old_one_ends() -> None:
    ended = job(at=LAST, ended="Failed", start=LAST)
    state = cronjob(last=LAST, active=(ended,), concurrencyPolicy="Forbid")
    found = sync(state, "2026-06-15T09:20:00Z", ended)
    assert found.names == [NEW]
    assert found.active == [NEW]
    late = cronjob(last=LAST, active=(ended,), concurrencyPolicy="Forbid", startingDeadlineSeconds=60)
    assert sync(late, "2026-06-15T09:20:00Z", ended).names == []


def test_replace_deletes_the_old_and_starts_the_new() -> None:
    state = cronjob(last=LAST, active=(OLDER, OLD), concurrencyPolicy="Replace")
    found = sync(state, NOW, OLDER, OLD)
    assert found.asked == [
        "get Job backup-29691780",
        "delete Job backup-29691780",
        "get Job backup-29691840",
        "delete Job backup-29691840",
        "create Job backup-29691900",
    ]
    assert found.active == [NEW]
    assert found.reasons == ["SuccessfulDelete", "SuccessfulDelete", "SuccessfulCreate"]


def test_replace_does_nothing_when_the_old_one_cannot_be_read() -> None:
    state = cronjob(last=LAST, active=(OLD,), concurrencyPolicy="Replace")
    server = Server(fails={("get", OLD_NAME): errors.internal("away")})
    found = sync(state, NOW, OLD, server=server)
    assert (found.names, found.deleted, found.plan.status) == ([], [], None)
    assert found.plan.events == (("Warning", "FailedGet", "Get job: Internal error occurred: away"),)
    assert found.plan.problem is not None


def test_replace_starts_nothing_when_the_old_one_cannot_be_deleted_and_keeps_what_it_did() -> None:
    state = cronjob(last=LAST, active=(OLDER, OLD), concurrencyPolicy="Replace")
    server = Server(fails={("delete", OLD_NAME): errors.internal("away")})
    found = sync(state, NOW, OLDER, OLD, server=server)
    assert found.names == []
    assert found.reasons == ["SuccessfulDelete", "FailedDelete"]
    assert found.plan.events[1].message == "Deleted job: Internal error occurred: away"
    assert str(found.plan.problem) == f"could not replace job ns/{OLD_NAME}"
    assert found.active == [OLD_NAME]


@pytest.mark.parametrize("policy", ["Forbid", "Replace"])
def test_a_job_made_by_hand_is_invisible_to_the_policies(policy: str) -> None:
    by_hand = job("by-hand")
    found = sync(cronjob(last=LAST, concurrencyPolicy=policy), NOW, by_hand)
    assert (found.names, found.deleted) == ([NEW], [])
    assert found.reasons == ["UnexpectedJob", "SuccessfulCreate"]


def test_forbid_sees_a_run_that_was_started_and_not_written_down() -> None:
    """Longshore died between the two, and a later run is due."""
    forgotten = {**OLD, "metadata": {**OLD["metadata"], "annotations": {SCHEDULED: LAST}}}
    state = cronjob(last="2026-06-15T07:00:00Z", concurrencyPolicy="Forbid")
    found = sync(state, NOW, forgotten)
    assert found.names == []
    assert OLD["metadata"]["name"] in found.plan.why[-1].words


def test_forbid_does_not_see_a_job_made_by_hand() -> None:
    by_hand = {**OLD, "metadata": {**OLD["metadata"], "name": "backup-by-hand"}}
    state = cronjob(last=LAST, concurrencyPolicy="Forbid")
    assert len(sync(state, NOW, by_hand).names) == 1
