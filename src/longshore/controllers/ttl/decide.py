"""When a finished Job is to be deleted. A pure function of the Job and the time.

How long it stays is `spec.ttlSecondsAfterFinished`, unless an annotation says otherwise for the way the Job
ended: `longshore.dev/ttl-after-success` or `longshore.dev/ttl-after-failure`, in seconds (`3600`) or as a
duration (`36h`). One that cannot be read keeps the Job: better one Job too many than one too few.
"""

from __future__ import annotations

from typing import Final

from longshore.api.facts import job_state, own_names
from longshore.api.field import quoted
from longshore.api.time import durations, rfc3339
from longshore.api.time.instants import SECOND, Instant
from longshore.api.types import Obj
from longshore.controllers.expiring import plan
from longshore.controllers.expiring.plan import Plan
from longshore.machinery.queues.try_again import TryAgain

TTL_AFTER: Final = {
    "Complete": own_names.TTL_AFTER_SUCCESS,
    "Failed": own_names.TTL_AFTER_FAILURE,
}
"""The annotation for each condition that ends a Job."""
_MAX_SECONDS: Final = 2**63 // SECOND
"""Seconds of the longest duration, about 292 years."""
_META: Final = ("name", "namespace", "uid", "resourceVersion", "deletionTimestamp")
_SPEC: Final = ("ttlSecondsAfterFinished",)


class BadAnnotation(ValueError):
    """The annotation is neither a number of seconds nor a duration such as 90s or 36h."""


def slim(job: Obj) -> Obj:
    """The part of a Job that a decision needs; the cache keeps no more."""
    meta, spec = job["metadata"], job.get("spec") or {}
    kept = {key: meta[key] for key in _META if key in meta}
    if annotations := meta.get("annotations"):
        kept["annotations"] = {key: annotations[key] for key in TTL_AFTER.values() if key in annotations}
    found: Obj = {"metadata": kept, "spec": {key: spec[key] for key in _SPEC if key in spec}}
    if conditions := (job.get("status") or {}).get("conditions"):
        found["status"] = {"conditions": conditions}
    return found


def decide(job: Obj, now: Instant) -> Plan:
    """The plan for this Job. Raises TryAgain when it does not say when it finished."""
    if "deletionTimestamp" in job["metadata"]:
        return plan.kept("BeingDeleted", "it is being deleted already")
    end = job_state.end_of(job)
    if end is None:
        return plan.kept("NotEnded", "it has not finished")
    try:
        ttl = ttl_of(job, end["type"])
    except BadAnnotation as err:
        return plan.kept("BadAnnotation", "its annotation cannot be read", problem=str(err))
    if ttl is None:
        return plan.kept("NoTtl", "it has no TTL")
    return plan.after(_finish_time(job, end), ttl, now)


def wanted(job: Obj) -> bool:
    """Whether the Job may ever be due as it is: quick, for every change of every Job."""
    if "deletionTimestamp" in job["metadata"]:
        return False
    if (job.get("spec") or {}).get("ttlSecondsAfterFinished") is None:
        annotations = job["metadata"].get("annotations")
        if not annotations or not any(key in annotations for key in TTL_AFTER.values()):
            return False
    return job_state.has_ended(job)


def ttl_of(job: Obj, outcome: str) -> float | None:
    """Seconds the Job stays after it ended this way; None for ever. Raises BadAnnotation."""
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
    """When the Job came to its end, which is not its completion time."""
    if not end.get("lastTransitionTime"):
        meta = job["metadata"]
        where = f"{meta['namespace']}/{meta['name']}"
        raise TryAgain(f"unable to find the time when the Job {where} finished")
    return rfc3339.parse(end["lastTransitionTime"])
