"""Decides for one Volcano Job: a pure function from a view and answers to a plan.

A sync takes several plans, since most writes depend on the result of the one before. `decide` returns the
plan that follows the answers so far: the same view and the same answers always make the same plan, also when
replayed. A `Decision` makes the plans one by one, so that nothing is decided twice.

requests_in_order.py describes the order within a sync, sync_job.py the action SyncJob, kill.py a kill.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from longshore.controllers.volcano.job import requests_in_order
from longshore.controllers.volcano.job.draft import VolcanoJobDraft
from longshore.controllers.volcano.job.plan import Answers, End, VolcanoJobPlan
from longshore.controllers.volcano.job.view import VolcanoJobView

_NOTHING_YET: Final = VolcanoJobPlan(())


def decide(view: VolcanoJobView, answers: Iterable[Answers] = ()) -> VolcanoJobPlan | End:
    """Returns the plan that follows these answers to the earlier plans; an `End` if nothing is left to do."""
    decision = Decision(view)
    for each in answers:
        decision.go_on(each)
    return decision.plan


class Decision:
    """One sync in the making. `plan` is the current plan."""

    def __init__(self, view: VolcanoJobView) -> None:
        self.plan: VolcanoJobPlan | End = _NOTHING_YET
        self._course = requests_in_order.course(VolcanoJobDraft(view))
        self._take(None)

    def go_on(self, answers: Answers) -> None:
        """Takes the answers to `plan`, and makes the next `plan`. Raises errors that are no refusals."""
        if isinstance(self.plan, End):
            raise ValueError("the sync has ended: nothing is left to be answered")
        self._take(answers)

    def _take(self, answers: Answers | None) -> None:
        try:
            self.plan = next(self._course) if answers is None else self._course.send(answers)
        except StopIteration as stop:
            self.plan = stop.value
