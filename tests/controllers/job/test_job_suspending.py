"""Suspended and resumed Jobs."""

from __future__ import annotations

from controllers.job.job_scene import a_job, a_pod, at, indexed, sync


def test_created_suspended_it_runs_nothing_and_has_not_started() -> None:
    done = sync(a_job(2, 2, suspend=True, started=None))
    assert done.created == []
    assert done.conditions == ["Suspended=True"]
    assert done.status["conditions"][0]["reason"] == "JobSuspended"
    assert done.status["conditions"][0]["message"] == "Job suspended"
    assert "startTime" not in done.status
    assert done.events == ["Normal Suspended"]


def test_suspending_releases_what_runs_without_failures() -> None:
    done = sync(a_job(2, 2, suspend=True), a_pod("a", ready=True), a_pod("b"))
    assert done.released == ["a", "b"]
    assert done.counts("active", "ready", "terminating", "failed") == (0, 0, 2, 0)
    assert "startTime" not in done.status


def test_while_pods_are_unseen_nothing_is_suspended() -> None:
    done = sync(a_job(2, 2, suspend=True), a_pod("a"), patience=300.0)
    assert done.released == []
    assert done.conditions == []
    assert done.status["startTime"] == at(-60)


def test_resuming_starts_pods_and_the_time_anew() -> None:
    suspended = {"type": "Suspended", "status": "True", "reason": "JobSuspended", "message": "Job suspended"}
    job = a_job(2, 2, status={"ready": 0, "terminating": 0, "conditions": [suspended]})
    done = sync(job)
    assert len(done.created) == 2
    assert done.conditions == ["Suspended=False"]
    assert done.status["conditions"][0]["reason"] == "JobResumed"
    assert done.status["startTime"] == at(0)
    assert done.events == ["Normal Resumed"]


def test_a_suspended_job_stays_quiet() -> None:
    suspended = {"type": "Suspended", "status": "True", "reason": "JobSuspended", "message": "Job suspended"}
    status = {"ready": 0, "terminating": 0, "conditions": [suspended]}
    done = sync(a_job(2, 2, suspend=True, status=status))
    assert done.writes == []
    assert done.events == []


def test_a_job_being_deleted_is_not_suspended() -> None:
    done = sync(a_job(2, 2, suspend=True, deleting=True), a_pod("a"), a_pod("b"))
    assert (done.released, done.deleted, done.conditions) == ([], [], [])
    assert done.stripped == ["a", "b"]
    assert done.status["active"] == 2


def test_a_suspended_job_without_work_is_complete_without_a_start() -> None:
    done = sync(a_job(2, 0, suspend=True, started=None))
    assert done.conditions == ["SuccessCriteriaMet=True", "Complete=True"]
    assert "startTime" not in done.status


def test_a_suspended_job_whose_pods_all_succeeded_is_complete() -> None:
    done = sync(a_job(2, 2, suspend=True), a_pod("a", "Succeeded"), a_pod("b", "Succeeded"))
    assert done.conditions == ["SuccessCriteriaMet=True", "Complete=True"]


def test_a_suspended_indexed_job_releases_every_pod() -> None:
    done = sync(indexed(2, 2, suspend=True), a_pod("a", index=0), a_pod("b", index=1))
    assert sorted(done.released) == ["a", "b"]
