"""When a finished Job is to be deleted. A pure function of the Job and the time.

How long it stays is `spec.ttlSecondsAfterFinished`, unless an annotation says otherwise for the way the Job
ended: `longshore.dev/ttl-after-success` or `longshore.dev/ttl-after-failure`, in seconds (`3600`) or as a
duration (`36h`). One that cannot be read keeps the Job: better one Job too many than one too few.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Final

from longshore.api.field import quoted
from longshore.api.time import durations, instants, rfc3339
from longshore.api.time.instants import SECOND, Instant
from longshore.api.types import Obj
from longshore.machinery.queues.try_again import TryAgain

TTL_AFTER: Final = {
    "Complete": "longshore.dev/ttl-after-success",
    "Failed": "longshore.dev/ttl-after-failure",
}
"""The annotation for each condition that ends a Job."""
_LONGEST: Final = 2**63 // SECOND
"""Seconds of the longest duration, about 292 years."""


@dataclass(frozen=True, slots=True)
class Plan:
    """At most one of `delete` and `look_again`. With neither, only a change of the Job calls for a look."""

    why: str
    delete: bool = False
    late: float = 0.0
    """Seconds since the Job was due."""
    look_again: float | None = None
    """In how many seconds the Job is due."""
    skew: bool = False
    """Whether the Job claims to have finished in the future."""
    problem: str = ""
    """What a person should put right."""


class BadAnnotation(ValueError):
    """The annotation is neither a number of seconds nor a duration such as 90s or 36h."""


def decide(job: Obj, now: datetime) -> Plan:
    """What is due for this Job. Raises TryAgain when it does not say when it finished."""
    if "deletionTimestamp" in job["metadata"]:
        return Plan("it is being deleted already")
    end = ended(job)
    if end is None:
        return Plan("it has not finished")
    try:
        ttl = ttl_of(job, end["type"])
    except BadAnnotation as err:
        return Plan("its annotation cannot be read", problem=str(err))
    if ttl is None:
        return Plan("it has no TTL")
    finished = _finish_time(job, end)
    left = (finished + int(ttl * SECOND) - instants.of(now)) / SECOND
    skew = finished > instants.of(now)
    if left > 0:
        return Plan(f"it is due {ttl} s after it finished", look_again=left, skew=skew)
    return Plan(f"it finished more than {ttl} s ago", delete=True, late=-left, skew=skew)


def wanted(job: Obj) -> bool:
    """Whether the Job may ever be due as it is: quick, for every change of every Job."""
    if "deletionTimestamp" in job["metadata"]:
        return False
    if (job.get("spec") or {}).get("ttlSecondsAfterFinished") is None:
        annotations = job["metadata"].get("annotations")
        if not annotations or not any(key in annotations for key in TTL_AFTER.values()):
            return False
    return ended(job) is not None


def ended(job: Obj) -> Obj | None:
    """The first condition that says that the Job is over."""
    for condition in (job.get("status") or {}).get("conditions") or ():
        if condition["type"] in TTL_AFTER and condition["status"] == "True":
            found: Obj = condition
            return found
    return None


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
    if not 0 <= ttl <= _LONGEST:
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
