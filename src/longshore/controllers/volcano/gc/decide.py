"""Decides when a finished Volcano Job is deleted. A pure function of the Job and the time."""

from __future__ import annotations

from typing import Final

from longshore.api.facts import volcano_job_state
from longshore.api.time import rfc3339
from longshore.api.time.instants import Instant
from longshore.api.types import Obj
from longshore.controllers.expiring import plan
from longshore.controllers.expiring.plan import ExpiryPlan

_META: Final = ("name", "namespace", "uid", "resourceVersion", "deletionTimestamp")


def slim(job: Obj) -> Obj:
    """Cuts a Job down to the part that decisions need, which is all that the cache keeps."""
    meta, ttl = job["metadata"], (job.get("spec") or {}).get("ttlSecondsAfterFinished")
    found: Obj = {"metadata": {key: meta[key] for key in _META if key in meta}}
    if ttl is not None:
        found["spec"] = {"ttlSecondsAfterFinished": ttl}
        found["status"] = {"state": (job.get("status") or {}).get("state")}
    return found


def decide(job: Obj, now: Instant) -> ExpiryPlan:
    """Returns the plan for this Job."""
    if not wanted(job):
        return plan.kept("NotDue")
    ended = job["status"]["state"].get("lastTransitionTime")
    if not ended:
        return plan.kept("EndUnknown")
    return plan.after(rfc3339.parse(ended), job["spec"]["ttlSecondsAfterFinished"], now)


def wanted(job: Obj) -> bool:
    """Whether the Job can become due without a change. Quick: called for every change of every Job."""
    if (job.get("spec") or {}).get("ttlSecondsAfterFinished") is None:
        return False
    return volcano_job_state.has_ended(job) and "deletionTimestamp" not in job["metadata"]
