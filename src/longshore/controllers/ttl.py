"""Deletes finished Jobs some time after their end.

The time to live is `spec.ttlSecondsAfterFinished`, unless an annotation overrides it for the outcome of the
Job: `longshore.dev/ttl-after-success` or `longshore.dev/ttl-after-failure`, in seconds (`3600`) or as a
duration (`36h`). If the annotation cannot be parsed, the Job is kept. `decide` is a pure function of the Job
and the time; the loop is `controllers/expiring`.
"""

from __future__ import annotations

from functools import partial
from typing import Final

from longshore.api.facts import job_state, kinds, own_names
from longshore.api.field import quoted
from longshore.api.time import durations, rfc3339
from longshore.api.time.instants import SECOND, Instant
from longshore.api.types import Obj
from longshore.client.projection import Projection
from longshore.controllers.expiring import dialect, loop
from longshore.controllers.expiring.dialect import Dialect, ExpiryPlan
from longshore.machinery.queues.try_again import TryAgain

TTL_AFTER: Final = {
    "Complete": own_names.TTL_AFTER_SUCCESS,
    "Failed": own_names.TTL_AFTER_FAILURE,
}
"""The annotation for each terminal condition of a Job."""
_MAX_SECONDS: Final = 2**63 // SECOND
"""Seconds of the longest duration, about 292 years."""
READS: Final = {
    kinds.JOBS: Projection(
        *(("metadata", "annotations", name) for name in TTL_AFTER.values()),
        "spec.ttlSecondsAfterFinished",
        "status.conditions",
    )
}
"""All that decisions read of a Job."""


class BadAnnotation(ValueError):
    """The annotation is neither a number of seconds nor a duration such as 90s or 36h."""


def decide(job: Obj, now: Instant) -> ExpiryPlan:
    """Returns the plan for this Job. Raises TryAgain if its finish time is missing."""
    if "deletionTimestamp" in job["metadata"]:
        return dialect.kept("BeingDeleted")
    end = job_state.end_of(job)
    if end is None:
        return dialect.kept("NotEnded")
    try:
        ttl = ttl_of(job, end["type"])
    except BadAnnotation as err:
        return dialect.kept("BadAnnotation", problem=str(err))
    if ttl is None:
        return dialect.kept("NoTtl")
    return dialect.after(_finish_time(job, end), ttl, now)


def wanted(job: Obj) -> bool:
    """Whether the Job can become due without a change. Quick: called for every change of every Job."""
    if "deletionTimestamp" in job["metadata"]:
        return False
    if (job.get("spec") or {}).get("ttlSecondsAfterFinished") is None:
        annotations = job["metadata"].get("annotations")
        if not annotations or not any(key in annotations for key in TTL_AFTER.values()):
            return False
    return job_state.has_ended(job)


def ttl_of(job: Obj, outcome: str) -> float | None:
    """Returns the seconds that a Job with this outcome is kept; None for ever. Raises BadAnnotation."""
    key = TTL_AFTER[outcome]
    text = (job["metadata"].get("annotations") or {}).get(key)
    if text is None:
        seconds: int | None = (job.get("spec") or {}).get("ttlSecondsAfterFinished")
        return seconds
    try:
        ttl = int(text) if text.isascii() and text.isdigit() else durations.parse(text) / SECOND
    except ValueError:
        ttl = -1
    if not 0 <= ttl <= _MAX_SECONDS:
        raise BadAnnotation(
            f"annotation {key}: {quoted(text)} is neither a number of seconds nor a duration such as 90s or "
            "36h; the Job is kept"
        )
    return ttl


def _finish_time(job: Obj, end: Obj) -> Instant:
    """Returns the time of the terminal condition, which may differ from completionTime."""
    if not end.get("lastTransitionTime"):
        meta = job["metadata"]
        where = f"{meta['namespace']}/{meta['name']}"
        raise TryAgain(f"unable to find the time when the Job {where} finished")
    return rfc3339.parse(end["lastTransitionTime"])


DIALECT: Final = Dialect(
    "ttl",
    kinds.JOBS,
    component="ttl-after-finished-controller",
    queue="ttl_jobs_to_delete",
    reads=READS[kinds.JOBS],
    wanted=wanted,
    decide=decide,
    late_metric=(
        "ttl_after_finished_controller_job_deletion_duration_seconds",
        "The time it took to delete the job since it became eligible for deletion",
    ),
)

run = partial(loop.run, DIALECT)

__all__ = ["DIALECT", "READS", "run"]
