"""Decides when a finished Volcano Job is deleted. A pure function of the Job and the time."""

from __future__ import annotations

from typing import Final

from longshore.api.facts import volcano_job_state
from longshore.api.time import rfc3339
from longshore.api.time.instants import Instant
from longshore.api.types import Obj
from longshore.client.source import Projection
from longshore.controllers.expiring import plan
from longshore.controllers.expiring.plan import ExpiryPlan

READS: Final = Projection("metadata.deletionTimestamp", "spec.ttlSecondsAfterFinished", "status.state")
"""All that decisions read of a Job."""


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
