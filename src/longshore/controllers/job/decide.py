"""Decides about a Job: pure functions, one for each stage of a sync.

`decide` plans the changes to the Job's pods. After these changes, `track` gives the status to write and the
finalizers to remove; `before_killing` gives them in advance if they must be recorded first. After the
finalizers are removed, `finish` gives the last write.
"""

from __future__ import annotations

from typing import Final

from longshore.api import indexes as runs
from longshore.api.time import rfc3339
from longshore.controllers.job import spec as job_spec
from longshore.controllers.job.ends import failures, outcome
from longshore.controllers.job.ends.conditions import Outcome
from longshore.controllers.job.ends.finish import finish
from longshore.controllers.job.ends.tracking import before_killing, track
from longshore.controllers.job.plan import JobPlan
from longshore.controllers.job.pods import counting, indexes, replacement_delay, wanted
from longshore.controllers.job.pods.counting import PodCount
from longshore.controllers.job.spec import Spec
from longshore.controllers.job.view import JobView
from longshore.machinery.reasons import Reason

__all__ = ["before_killing", "decide", "finish", "track"]

_UNSEEN: Final = Reason("PodsUnseen")
_DELETING: Final = Reason("JobBeingDeleted")
_POSTPONED: Final = Reason("VerdictPostponed")


def decide(view: JobView) -> JobPlan:
    """Returns the plan for the Job's pods now."""
    spec = job_spec.read(view.job)
    count = counting.count(view, spec)
    status = view.job.get("status") or {}
    start_time: str | None = status.get("startTime")
    if start_time is None and not spec.suspended:
        start_time = rfc3339.from_seconds(view.now)
    record = replacement_delay.draft(view.backoff, count.new_succeeded, count.new_failed)
    verdict, look_again = _verdict(view, spec, count, start_time)
    found, succeeded = None, count.succeeded
    if spec.indexed:
        found = indexes.find(view.roll, status, spec, count)
        succeeded = runs.count(found.succeeded)
        verdict = verdict or outcome.of_indexes(spec, found)
    plan = JobPlan(view, spec, count, found, succeeded, start_time, record, look_again=look_again)
    if verdict is not None:
        _end(plan, verdict)
    elif not view.satisfied:
        plan.why = (_UNSEEN,)
    elif spec.deleting:
        plan.why = (_DELETING,)
    else:
        change = wanted.manage(view, spec, count, succeeded, found, record)
        plan.managed = True
        plan.release, plan.create = change.release, change.create
        plan.action, plan.why, plan.next_start = change.action, (change.why,), change.next_start
        if change.look_again is not None and (look_again is None or change.look_again < look_again):
            plan.look_again = change.look_again
    if view.patience is not None and (plan.look_again is None or view.patience < plan.look_again):
        plan.look_again = view.patience
    if count.new_failed:
        plan.why = (*failures.reasons_of(view, spec, count, found), *plan.why)
    return plan


def _verdict(
    view: JobView, spec: Spec, count: PodCount, start_time: str | None
) -> tuple[Outcome | None, float | None]:
    """Returns the outcome that pods or deadline decide; without one, the seconds until the deadline."""
    verdict = outcome.recorded(view.job.get("status") or {}) or outcome.failure(view, spec, count)
    if verdict is not None:
        return verdict, None
    left = outcome.time_left(view, spec, start_time)
    if left is not None and left <= 0:
        return outcome.DEADLINE, None
    return None, left


def _end(plan: JobPlan, verdict: Outcome) -> None:
    why = [verdict.why]
    active = [*plan.view.roll.active.values()]
    if not plan.view.satisfied:
        why.append(_POSTPONED)
        active = []  # nothing is killed for a verdict that is not on record
    elif active:
        why.append(Reason("ActiveDeleted", {"pods": len(active)}))
    plan.outcome, plan.delete, plan.why = verdict, active, tuple(why)
