"""The draft of a plan for a Volcano CronJob."""

from __future__ import annotations

from typing import ClassVar

from longshore.api.facts import volcano_job_state
from longshore.api.types import Obj
from longshore.controllers.scheduled import draft
from longshore.controllers.scheduled.view import ScheduledView


class VolcanoCronJobDraft(draft.ScheduledDraft):
    removed_code: ClassVar[str] = "VolcanoJobRemoved"
    not_removed_code: ClassVar[str] = "VolcanoJobNotRemoved"

    def __init__(self, view: ScheduledView) -> None:
        super().__init__(view.cronjob)
        self.jobs = [job for job in view.jobs if job["metadata"]["uid"] not in view.going]
        """The CronJob's Jobs, without deleted ones that the cache still shows."""


def ended(job: Obj) -> str:
    """Returns the phase in which the Job ended; empty while it runs."""
    return volcano_job_state.phase_of(job) if volcano_job_state.has_ended(job) else ""


def end_time(job: Obj) -> str:
    found: str = job["status"]["state"].get("lastTransitionTime") or ""
    return found
