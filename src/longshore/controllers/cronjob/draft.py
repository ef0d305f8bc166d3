"""The draft of a plan for a batch/v1 CronJob."""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar

from longshore.api.types import Obj
from longshore.controllers.cronjob import finished
from longshore.controllers.cronjob.finished import Outcome
from longshore.controllers.scheduled import draft


class Draft(draft.Draft):
    deleted_words: ClassVar[str] = "Deleted job {name}"
    delete_failed_words: ClassVar[str] = "Deleted job: {problem}"

    def __init__(self, cronjob: Obj, jobs: Iterable[Obj]) -> None:
        super().__init__(cronjob)
        self.jobs: list[tuple[Obj, Outcome | None]] = [(job, finished.outcome(job)) for job in jobs]
        """The CronJob's Jobs, each with its outcome, or None while it runs."""
