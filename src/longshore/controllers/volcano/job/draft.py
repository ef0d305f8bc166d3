"""A visit while it is being decided: the Job as it is after the writes so far, and the reasons and events."""

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
    Event,
    Get,
    Patch,
    Plan,
    Refused,
    Step,
    WriteStatus,
)
from longshore.controllers.volcano.job.view import Remembered, View
from longshore.controllers.volcano.job.waking import intents
from longshore.controllers.volcano.job.waking.delays import Delays
from longshore.controllers.volcano.job.waking.job_requests import Request
from longshore.controllers.volcano.plugins import PluginError
from longshore.machinery.reasons import Number, Reason

FAILURES: Final = (StatusError, Unreachable, Refused, ClaimMissing, PluginError)
"""The errors that can break off a visit."""


class Draft:
    """Begins with what the view says; never changes it."""

    def __init__(self, view: View) -> None:
        self.view = view
        """With the Job and its PodGroup as they were written last."""
        self.job = view.job
        """The newest version: each write goes over exactly the one before."""
        self.delays = Delays(view.remembered.delays)
        self.known, self.failures = view.remembered.known, view.remembered.failures
        self.grouped = view.remembered.grouped
        self.unwritten, self.counters_later = view.unwritten, False
        self.left: list[Request] = []
        """The requests to the next visit."""
        self.asked = False
        """Whether something else was asked since the visit began."""
        self.why: list[Reason] = []
        self._events: list[Event] = []

    def because(self, code: str, words: str, numbers: Mapping[str, Number] | None = None) -> None:
        self.why.append(Reason(code, words, numbers) if numbers else Reason(code, words))

    def event(self, type: str, reason: str, message: str) -> None:
        self._events.append(Event(type, reason, message))

    # ---- what is asked of `act`

    def do(self, steps: tuple[Step, ...]) -> Course[Sequence[Answer]]:
        """Carries steps out side by side."""
        if not steps:
            return ()
        answers = yield self._plan(steps)
        self.asked = answers.asked
        return answers.results

    def one(self, step: Step) -> Course[Obj]:
        """Carries one step out. Raises what it was refused with."""
        answers = yield self._plan((step,))
        self.asked = answers.asked
        (answer,) = answers.results
        if isinstance(answer, Exception):
            raise answer
        return answer

    def _plan(self, steps: tuple[Step, ...]) -> Plan:
        events, self._events = tuple(self._events), []
        return Plan(steps, events, tuple(self.why))

    def found(self, kind: Kind, name: str) -> Course[Obj | None]:
        """An object; None when there is none."""
        with errors.tolerated(404):
            return (yield from self.one(Get(kind, name)))
        return None

    # ---- writes of the Job itself

    def annotate(self, values: Mapping[str, str | None]) -> Course[None]:
        """Brings annotations of the Job to these values; None takes one away."""
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
        """The Job is this from now on."""
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


def guarded(draft: Draft, reason: str, said: str, doing: Course[None]) -> Course[None]:
    """Does something of which a failure is told in an event; not that somebody else was quicker."""
    try:
        yield from doing
    except FAILURES as err:
        if not (isinstance(err, StatusError) and err.reason == "Conflict"):
            draft.event("Warning", reason, f"{said}{err}")
        raise


def is_missing(answer: Answer) -> bool:
    """Whether the object was not there."""
    return isinstance(answer, StatusError) and answer.code == 404
