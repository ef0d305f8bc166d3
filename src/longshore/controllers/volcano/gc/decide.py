"""When a finished Volcano Job is to be deleted. A pure function of the Job and the time."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from longshore.api.facts import volcano_job_state
from longshore.api.time import instants, rfc3339
from longshore.api.time.instants import SECOND
from longshore.api.types import Obj


@dataclass(frozen=True, slots=True)
class Plan:
    """At most one of `delete` and `look_again`. With neither, only a change of the Job calls for a look."""

    why: str
    delete: bool = False
    look_again: float | None = None
    """In how many seconds the Job is due."""


def decide(job: Obj, now: datetime) -> Plan:
    """What is due for this Job."""
    if not wanted(job):
        return Plan("it has not finished, has no time to live, or is being deleted already")
    ttl, finished = job["spec"]["ttlSecondsAfterFinished"], job["status"]["state"].get("lastTransitionTime")
    if not finished:
        return Plan("it does not say when it finished")
    left = (rfc3339.parse(finished) + ttl * SECOND - instants.of(now)) / SECOND
    if left > 0:
        return Plan(f"it is due {ttl} s after it finished", look_again=left)
    return Plan(f"it finished {ttl} s ago or more", delete=True)


def wanted(job: Obj) -> bool:
    """Whether the Job may be due as it is: quick, for every change of every Job."""
    if (job.get("spec") or {}).get("ttlSecondsAfterFinished") is None:
        return False
    return volcano_job_state.has_ended(job) and "deletionTimestamp" not in job["metadata"]
