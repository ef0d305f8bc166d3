"""The heart of the controller: a pure function from a view of a Job, and answers, to a plan.

A visit takes several plans, as most writes depend on how the one before went. `decide` gives the one that
follows after the answers so far: the same view and the same answers make the same plan, whenever and wherever
they are replayed. A `Decision` gives one after the other, so that nothing is decided twice.

What a visit decides in which order is told in visit.py; a sync in sync.py, a kill in kill.py.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from longshore.controllers.volcano.job import visit
from longshore.controllers.volcano.job.draft import Draft
from longshore.controllers.volcano.job.plan import Answers, End, Plan
from longshore.controllers.volcano.job.view import View

_NOTHING_YET: Final = Plan(())


def decide(view: View, answers: Iterable[Answers] = ()) -> Plan | End:
    """The plan that follows after `answers`, one for each plan before it; an `End` when that was all."""
    decision = Decision(view)
    for each in answers:
        decision.go_on(each)
    return decision.plan


class Decision:
    """One visit being decided. `plan` is what to do now."""

    def __init__(self, view: View) -> None:
        self.plan: Plan | End = _NOTHING_YET
        self._course = visit.course(Draft(view))
        self._take(None)

    def go_on(self, answers: Answers) -> None:
        """Takes the answers to `plan`, which becomes the next one. Raises what is no refusal but a fault."""
        if isinstance(self.plan, End):
            raise ValueError("the visit has ended: nothing is left to be answered")
        self._take(answers)

    def _take(self, answers: Answers | None) -> None:
        try:
            self.plan = next(self._course) if answers is None else self._course.send(answers)
        except StopIteration as stop:
            self.plan = stop.value
