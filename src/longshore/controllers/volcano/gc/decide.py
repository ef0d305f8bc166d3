"""When a finished Volcano Job is to be deleted. A pure function of the Job and the time."""

from __future__ import annotations

from typing import Final

from longshore.api.facts import volcano_job_state
from longshore.api.time import rfc3339
from longshore.api.time.instants import Instant
from longshore.api.types import Obj
from longshore.controllers.expiring import plan
from longshore.controllers.expiring.plan import Plan

_META: Final = ("name", "namespace", "uid", "resourceVersion", "deletionTimestamp")


def slim(job: Obj) -> Obj:
    """The part of a Job that a decision needs; the cache keeps no more."""
    meta, ttl = job["metadata"], (job.get("spec") or {}).get("ttlSecondsAfterFinished")
    found: Obj = {"metadata": {key: meta[key] for key in _META if key in meta}}
    if ttl is not None:
        found["spec"] = {"ttlSecondsAfterFinished": ttl}
        found["status"] = {"state": (job.get("status") or {}).get("state")}
    return found


def decide(job: Obj, now: Instant) -> Plan:
    """The plan for this Job."""
    if not wanted(job):
        return plan.kept("NotDue", "it has not ended, has no time to live, or is being deleted already")
    ended = job["status"]["state"].get("lastTransitionTime")
    if not ended:
        return plan.kept("EndUnknown", "it does not say when it ended")
    return plan.after(rfc3339.parse(ended), job["spec"]["ttlSecondsAfterFinished"], now)


def wanted(job: Obj) -> bool:
    """Whether the Job may be due as it is: quick, for every change of every Job."""
    if (job.get("spec") or {}).get("ttlSecondsAfterFinished") is None:
        return False
    return volcano_job_state.has_ended(job) and "deletionTimestamp" not in job["metadata"]
