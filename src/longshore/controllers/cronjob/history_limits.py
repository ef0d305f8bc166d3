"""Selects finished Jobs to delete: the oldest beyond the limits of successful and of failed Jobs."""

from __future__ import annotations

from typing import Final

from longshore.api.types import Obj
from longshore.controllers.cronjob.draft import Draft
from longshore.controllers.cronjob.finished import Outcome
from longshore.controllers.scheduled.view import ScheduledView

_LIMITS: Final[dict[Outcome, str]] = {
    "Complete": "successfulJobsHistoryLimit",
    "Failed": "failedJobsHistoryLimit",
}


def excess(view: ScheduledView, draft: Draft) -> list[Obj]:
    """Returns the Jobs to delete, oldest first per limit. Jobs made by hand count; deleted ones do not."""
    spec = view.cronjob["spec"]
    doomed: list[Obj] = []
    for outcome, key in _LIMITS.items():
        limit = spec.get(key)
        if limit is None:
            continue
        ended = [job for job, how in draft.jobs if how == outcome]
        if view.going:
            ended = [job for job in ended if job["metadata"]["uid"] not in view.going]
        if len(ended) > limit:
            doomed += sorted(ended, key=_age)[: len(ended) - limit]
    return doomed


def _age(job: Obj) -> tuple[bool, str, str]:
    """Sort key: by start time, Jobs that never started last. RFC 3339 texts compare like times."""
    start = (job.get("status") or {}).get("startTime")
    return start is None, start or "", job["metadata"]["name"]
