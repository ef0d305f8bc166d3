"""Jobs that have ended are remembered in the store, also when they are gone, and through a restart."""

from __future__ import annotations

from longshore.api.retention import Retention
from longshore.api.types import Obj
from longshore.cli.commands import history as history_cli
from longshore.plane import job_history
from longshore.plane.job_history import JobHistory
from longshore.store import notes
from longshore.store.notes import Notes
from machinery.manual_clock import ManualClock

NOW = "2026-11-16T10:00:00Z"


def job(name: str, end: str = "", *, at: str = NOW, uid: str = "", **status: object) -> Obj:
    conditions = [{"type": end, "status": "True", "reason": "R", "message": "M", "lastTransitionTime": at}]
    meta = {"name": name, "namespace": "default", "uid": uid or f"uid-of-{name}"}
    known = {"startTime": NOW, **status, **({"conditions": conditions} if end else {})}
    return {"metadata": meta, "spec": {"completions": 3}, "status": known}


def shelves(limits: Retention | None = None) -> tuple[Notes, Notes]:
    """For Jobs that did not fail, and for those that did."""
    limits = limits or Retention()
    return Notes(notes.finished_jobs(limits)), Notes(notes.failed_jobs(limits))


def history(of: tuple[Notes, Notes]) -> JobHistory:
    return JobHistory(ManualClock(), *of)


def kept(made: JobHistory) -> list[tuple[str, str]]:
    return [(each.name, each.result) for each in made.every()]


def test_a_job_is_noted_once_when_it_ends_and_not_when_it_goes() -> None:
    made = history(shelves())
    running, ended = job("a"), job("a", "Complete", succeeded=3)
    made.on_add(running, initial=False)
    made.on_update(running, running)
    made.on_update(running, ended)
    made.on_update(ended, ended)
    made.on_delete(ended, stale=False)
    assert kept(made) == [("a", "complete")]
    (record,) = made.every()
    assert (record.succeeded, record.completions, record.reason, record.message) == (3, 3, "R", "M")


def test_start_and_end_are_known_to_the_millisecond() -> None:
    clock = ManualClock()
    shelf = shelves()
    made = JobHistory(clock, *shelf)
    created, started = job("a"), job("a", startTime="2026-01-01T00:00:05Z")
    created["status"] = {}
    clock.advance(5.25)
    made.on_add(created, initial=False)
    made.on_update(created, started)
    clock.advance(2.5)
    made.on_update(started, started)
    ended = job("a", "Complete", startTime="2026-01-01T00:00:05Z", at="2026-01-01T00:00:07Z")
    made.on_update(started, ended)
    (record,) = made.every()
    document = record.document()
    assert document["startTime"] == "2026-01-01T00:00:05.250Z"
    assert document["endTime"] == "2026-01-01T00:00:07.750Z"
    again = history_cli.of_finished(document, "server")
    gone = history_cli.of_finished(document, "deleted")
    for row in (again, gone):
        assert (row.document()["begun"], row.document()["ended"]) == (
            document["startTime"],
            document["endTime"],
        )


def test_news_that_come_late_tell_the_second_alone() -> None:
    clock = ManualClock()
    clock.advance(60)
    made = JobHistory(clock, *shelves())
    made.on_add(job("a", startTime="2026-01-01T00:00:05Z"), initial=True)
    ended = job("a", "Complete", startTime="2026-01-01T00:00:05Z", at="2026-01-01T00:00:30Z")
    made.on_add(ended, initial=True)
    late = job("b", "Complete", startTime="2026-01-01T00:00:58Z", at="2026-01-01T00:00:59Z")
    made.on_add(late, initial=False)
    times = [(each.document()["startTime"][17:], each.document()["endTime"][17:]) for each in made.every()]
    assert times == [("05.000Z", "30.000Z"), ("58.000Z", "59.999Z")]  # not after the second that was told


def test_a_job_that_ended_in_the_second_of_the_last_record_is_added_after_a_restart() -> None:
    clock, shelf = ManualClock(), shelves()
    clock.advance(0.5)
    before = JobHistory(clock, *shelf)
    before.on_update(job("a"), job("a", "Complete", at="2026-01-01T00:00:00Z"))
    before.flush()
    after = JobHistory(clock, *shelf)
    after.on_add(job("b", "Complete", at="2026-01-01T00:00:00Z"), initial=True)
    assert kept(after) == [("a", "complete"), ("b", "complete")]


def test_a_job_that_is_deleted_before_its_end_is_noted_as_deleted() -> None:
    made = history(shelves())
    made.on_delete(job("a", succeeded=1), stale=False)
    assert kept(made) == [("a", "deleted")]


def test_after_a_restart_only_jobs_without_a_record_are_added() -> None:
    shelf = shelves()
    before = history(shelf)
    before.on_update(job("a"), job("a", "Complete"))
    before.flush()
    after = history(shelf)
    after.on_add(job("a", "Complete"), initial=True)
    after.on_add(job("late", "Failed", at="2026-11-16T10:00:01Z"), initial=True)
    after.on_add(job("old", "Failed", at="2026-11-01T10:00:00Z"), initial=True)
    assert kept(after) == [("a", "complete"), ("late", "failed")]


def test_the_last_failure_is_told_with_index_and_exit_code() -> None:
    def pod(index: str, at: str, code: int) -> Obj:
        ended = {"terminated": {"exitCode": code, "finishedAt": at}}
        marks = {"batch.kubernetes.io/job-completion-index": index}
        meta = {"name": "p", "uid": index, "creationTimestamp": NOW, "annotations": marks}
        return {"metadata": meta, "status": {"containerStatuses": [{"name": "c", "state": ended}]}}

    pods = [pod("1", "2026-11-16T10:00:02Z", 7), pod("0", "2026-11-16T10:00:01Z", 3)]
    record = job_history.record_of(job("a", "Failed"), pods, 0.0)
    assert record.last_failure == "index 1: exit code 7"
    assert record.document()["lastFailure"] == "index 1: exit code 7"


def test_records_are_bounded_by_number_and_age() -> None:
    shelf = shelves(Retention(history=3, history_age=1e9))
    made = history(shelf)
    for number in range(5):
        made.on_update(job(f"j{number}"), job(f"j{number}", "Complete"))
        made.flush()
    assert kept(made) == [("j2", "complete"), ("j3", "complete"), ("j4", "complete")]


def test_thousands_of_jobs_that_succeed_cost_no_failed_job_its_record() -> None:
    shelf = shelves(Retention(history=3, history_age=1e9))
    made = history(shelf)
    made.on_update(job("bad"), job("bad", "Failed"))
    for number in range(5):
        made.on_update(job(f"j{number}"), job(f"j{number}", "Complete", at=f"2026-11-16T10:00:0{number}Z"))
        made.flush()
    assert kept(made) == [("bad", "failed"), ("j2", "complete"), ("j3", "complete"), ("j4", "complete")]
    for number in range(5):
        made.on_update(job(f"f{number}"), job(f"f{number}", "Failed", at=f"2026-11-16T10:00:0{number}Z"))
        made.flush()
    assert sorted(kept(history(shelf))) == [
        *((f"f{number}", "failed") for number in (2, 3, 4)),
        *((f"j{number}", "complete") for number in (2, 3, 4)),
    ]
