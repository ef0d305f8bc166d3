"""Deletes Volcano Jobs some time after they ended.

`decide` is a pure function of the Job and the time; the loop is `controllers/expiring`.
"""

from __future__ import annotations

from functools import partial
from typing import Final

from longshore.api.facts import kinds, volcano_job_state
from longshore.api.time import rfc3339
from longshore.api.time.instants import Instant
from longshore.api.types import Obj
from longshore.client.projection import Projection
from longshore.controllers.expiring import dialect, loop
from longshore.controllers.expiring.dialect import Dialect, ExpiryPlan

READS: Final = {kinds.VOLCANO_JOBS: Projection("spec.ttlSecondsAfterFinished", "status.state")}
"""All that decisions read of a Job."""


def decide(job: Obj, now: Instant) -> ExpiryPlan:
    """Returns the plan for this Job."""
    if not wanted(job):
        return dialect.kept("NotDue")
    ended = job["status"]["state"].get("lastTransitionTime")
    if not ended:
        return dialect.kept("EndUnknown")
    return dialect.after(rfc3339.parse(ended), job["spec"]["ttlSecondsAfterFinished"], now)


def wanted(job: Obj) -> bool:
    """Whether the Job can become due without a change. Quick: called for every change of every Job."""
    if (job.get("spec") or {}).get("ttlSecondsAfterFinished") is None:
        return False
    return volcano_job_state.has_ended(job) and "deletionTimestamp" not in job["metadata"]


DIALECT: Final = Dialect(
    "volcano-gc",
    kinds.VOLCANO_JOBS,
    component="vc-controller-manager",
    queue="volcano_gc",
    reads=READS[kinds.VOLCANO_JOBS],
    wanted=wanted,
    decide=decide,
    harmless=(404, 409),  # gone, or replaced
)

run = partial(loop.run, DIALECT)

__all__ = ["DIALECT", "READS", "run"]
