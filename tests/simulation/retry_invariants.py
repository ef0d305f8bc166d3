"""What was asked for about failures of Jobs holds: how many there may be."""

from __future__ import annotations

from collections.abc import Iterator

from longshore.api.types import Obj
from simulation import job_books
from simulation.record import JOBS, Record

_VERDICTS = ("Complete", "Failed", "FailureTarget", "SuccessCriteriaMet")


def a_job_fails_when_its_limit_is_passed(record: Record) -> Iterator[str]:
    """A Job is judged by its backoffLimit or maxFailedIndexes in the write that tells of more failures than
    that, and never before. Restarts in place are no failed pods, and not judged."""
    for change in record.of(JOBS):
        spec = change.obj["spec"]
        if (
            spec["template"]["spec"]["restartPolicy"] != "Never"
            or "deletionTimestamp" in change.obj["metadata"]
        ):
            continue
        new, old = _verdicts(change.obj), _verdicts(change.old or {})
        for reason, failures, limit in _limits(change.obj):
            is_passed = limit is not None and failures > limit
            if is_passed and not new:
                yield f"{change.key.name}: {failures} failures, limit {limit}, and no verdict"
            if reason in new - old and not is_passed:
                yield f"{change.key.name}: {reason} after {failures} failures, limit {limit}"


INVARIANTS = (a_job_fails_when_its_limit_is_passed,)


def _limits(job: Obj) -> Iterator[tuple[str, int, int | None]]:
    """The reason of each verdict about failures, how many the status tells of, and how many may be."""
    spec, status = job["spec"], job.get("status") or {}
    listed = (status.get("uncountedTerminatedPods") or {}).get("failed") or ()
    yield "BackoffLimitExceeded", status.get("failed", 0) + len(listed), spec["backoffLimit"]
    indexes = job_books.listed(status, "failedIndexes", spec.get("completions") or 0)
    yield "MaxFailedIndexesExceeded", len(indexes), spec.get("maxFailedIndexes")


def _verdicts(job: Obj) -> set[str]:
    """The reasons of the conditions that end a Job."""
    conditions = (job.get("status") or {}).get("conditions") or ()
    return {c["reason"] for c in conditions if c["type"] in _VERDICTS and c["status"] == "True"}
