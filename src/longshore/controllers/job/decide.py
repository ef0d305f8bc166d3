"""The heart of the controller: a pure function from a view of a Job to a plan.

What follows once the plan's pods are dealt with: tracking.py, then finish.py.
"""

from __future__ import annotations

from longshore.api import indexes as runs
from longshore.api.time import rfc3339
from longshore.controllers.job import spec as job_spec
from longshore.controllers.job.ends import outcome
from longshore.controllers.job.ends.conditions import Outcome
from longshore.controllers.job.plan import Plan
from longshore.controllers.job.pods import counting, indexes, replacement_delay, wanted
from longshore.controllers.job.pods.counting import Count
from longshore.controllers.job.spec import Spec
from longshore.controllers.job.view import View


def decide(view: View) -> Plan:
    """What to do about the Job's pods now."""
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
        found = indexes.find(status, spec, count)
        succeeded = runs.count(found.succeeded)
        verdict = verdict or outcome.of_indexes(spec, found)
    plan = Plan(view, spec, count, found, succeeded, start_time, record, look_again=look_again)
    if verdict is not None:
        _end(plan, verdict)
    elif not view.satisfied:
        plan.why = ("waits until all pods created and deleted before have been seen",)
    elif spec.deleting:
        plan.why = ("the Job is being deleted: creates and deletes nothing",)
    else:
        change = wanted.manage(view, spec, count, succeeded, found, record)
        plan.managed = True
        plan.release, plan.create = change.release, change.create
        plan.action, plan.why = change.action, (change.why,)
        if change.look_again is not None and (look_again is None or change.look_again < look_again):
            plan.look_again = change.look_again
    return plan


def _verdict(
    view: View, spec: Spec, count: Count, start_time: str | None
) -> tuple[Outcome | None, float | None]:
    """The outcome that pods and clock decide, and when else to look at the clock again."""
    verdict = outcome.recorded(view.job.get("status") or {}) or outcome.failure(view, spec, count)
    if verdict is not None:
        return verdict, None
    left = outcome.time_left(view, spec, start_time)
    if left is not None and left <= 0:
        return outcome.DEADLINE, None
    return None, left


def _end(plan: Plan, verdict: Outcome) -> None:
    why = [f"{verdict.type} {verdict.reason}: {verdict.message}"]
    active = plan.count.active
    if not plan.view.satisfied:
        why.append("does not act on it yet: some pods created before have not been seen")
        active = []  # nothing is killed for a verdict that is not on record
    elif active:
        why.append(f"deletes what is active: {len(active)}")
    plan.outcome, plan.delete, plan.why = verdict, active, tuple(why)
