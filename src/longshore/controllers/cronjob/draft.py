"""The draft of a plan for a batch/v1 CronJob."""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar, Literal, TypeAlias

from longshore.api.facts import job_state
from longshore.api.types import Obj
from longshore.controllers.scheduled import draft

Outcome: TypeAlias = Literal["Complete", "Failed"]


def outcome(job: Obj) -> Outcome | None:
    """Returns the type of the condition that ended the Job; None while it runs. The interim conditions
    `SuccessCriteriaMet` and `FailureTarget` do not end a Job."""
    end = job_state.end_of(job)
    if end is None:
        return None
    return "Complete" if end["type"] == "Complete" else "Failed"


class CronJobDraft(draft.ScheduledDraft):
    removed_code: ClassVar[str] = "JobRemoved"
    not_removed_code: ClassVar[str] = "JobNotRemoved"

    def __init__(self, cronjob: Obj, jobs: Iterable[Obj]) -> None:
        super().__init__(cronjob)
        self.jobs: list[tuple[Obj, Outcome | None]] = [(job, outcome(job)) for job in jobs]
        """The CronJob's Jobs, each with its outcome, or None while it runs."""
