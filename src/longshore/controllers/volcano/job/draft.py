"""A sync in the making: the Job as the writes so far left it, and the reasons and events."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from longshore.api import errors
from longshore.api.errors import StatusError
from longshore.api.facts import kinds
from longshore.api.facts.kinds import Kind
from longshore.api.facts.volcano_job_state import phase_of
from longshore.api.types import Obj
from longshore.client import Unreachable
from longshore.controllers.volcano.job.plan import (
    Answer,
    ClaimMissing,
    Course,
    End,
    Get,
    Patch,
    Refused,
    Step,
    VolcanoJobPlan,
    WriteStatus,
)
from longshore.controllers.volcano.job.view import Remembered, VolcanoJobView
from longshore.controllers.volcano.job.waking import intents
from longshore.controllers.volcano.job.waking.delays import Delays
from longshore.controllers.volcano.job.waking.job_requests import JobRequest
from longshore.controllers.volcano.plugins import PluginError
from longshore.machinery import catalogue
from longshore.machinery.catalogue import Event
from longshore.machinery.reasons import Number, Reason

FAILURES: Final = (StatusError, Unreachable, Refused, ClaimMissing, PluginError)
"""The errors that can end a sync early."""


class VolcanoJobDraft:
    """Starts from the view, which it never changes."""

    def __init__(self, view: VolcanoJobView) -> None:
        self.view = view
        """The view, with the Job and its PodGroup as last written."""
        self.job = view.job
        """The newest version: each write replaces exactly the version before it."""
        self.delays = Delays(view.remembered.delays)
        self.known, self.failures = view.remembered.known, view.remembered.failures
        self.grouped = view.remembered.grouped
        self.unwritten, self.counters_later = view.unwritten, False
        self.left: list[JobRequest] = []
        """Requests left for the next sync."""
        self.asked = False
        """Whether another request arrived since the sync began."""
        self.why: list[Reason] = []
        self._events: list[Event] = []

    def because(self, code: str, **numbers: Number) -> None:
        self.why.append(Reason(code, numbers))

    def event(self, code: str, /, **numbers: Number) -> None:
        self._events.append(catalogue.event(code, numbers))

    # ---- what is asked of `act`

    def do(self, steps: tuple[Step, ...]) -> Course[Sequence[Answer]]:
        """Carries out steps concurrently. Returns their answers."""
        if not steps:
            return ()
        answers = yield self._plan(steps)
        self.asked = answers.asked
        return answers.results

    def one(self, step: Step) -> Course[Obj]:
        """Carries out one step. Raises its error."""
        answers = yield self._plan((step,))
        self.asked = answers.asked
        (answer,) = answers.results
        if isinstance(answer, Exception):
            raise answer
        return answer

    def _plan(self, steps: tuple[Step, ...]) -> VolcanoJobPlan:
        events, self._events = tuple(self._events), []
        return VolcanoJobPlan(steps, events, tuple(self.why))

    def found(self, kind: Kind, name: str) -> Course[Obj | None]:
        """Reads an object; None if it does not exist."""
        with errors.tolerated(404):
            return (yield from self.one(Get(kind, name)))
        return None

    # ---- writes of the Job itself

    def annotate(self, values: Mapping[str, str | None]) -> Course[None]:
        """Sets annotations of the Job to these values; None removes one."""
        patch = intents.patch(self.job, values)
        if patch is not None:
            kept = self.job.get("status") or {}
            answer = yield from self.one(Patch(kinds.VOLCANO_JOBS, self.job["metadata"]["name"], patch))
            self.is_now({**answer, "status": kept})

    def write_status(self, new: Obj) -> Course[None]:
        job = {**self.job, "status": new}
        phase = phase_of(job)
        became = "" if phase == phase_of(self.job) else phase
        answer = yield from self.one(WriteStatus(job, became))
        self.unwritten = False
        self.is_now(answer)

    def is_now(self, job: Obj) -> None:
        """Replaces the Job in the draft by this version."""
        self.view, self.job = self.view.having(job, self.view.group), job

    def has_group(self, group: Obj | None) -> None:
        self.view = self.view.having(self.job, group)

    def end(self, look_again: float | None, problem: Exception | None = None) -> End:
        return End(
            tuple(self._events),
            tuple(self.why),
            look_again,
            tuple(self.left),
            Remembered(self.delays.entries, self.known, self.failures, self.grouped),
            self.counters_later,
            problem,
        )


def guarded(draft: VolcanoJobDraft, code: str, doing: Course[None]) -> Course[None]:
    """Runs `doing`. Adds the Event of `code` if it fails, except after a conflict."""
    try:
        yield from doing
    except FAILURES as err:
        if not (isinstance(err, StatusError) and err.reason == "Conflict"):
            draft.event(code, problem=str(err))
        raise


def is_missing(answer: Answer) -> bool:
    """Whether the object did not exist."""
    return isinstance(answer, StatusError) and answer.code == 404
