"""The rules that change a Job's phase. Pure functions of the Job and its new counters."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final, NamedTuple

from longshore.api.types import Obj
from longshore.controllers.volcano import names
from longshore.controllers.volcano.job.pods import tasks
from longshore.controllers.volcano.job.rules.table import Then
from longshore.machinery.reasons import Number, Reason


class PhaseChange(NamedTuple):
    """The new phase, and the reason."""

    phase: str
    why: Reason
    retry: bool = False
    """Whether the change uses one of the Job's retries."""


Rule = Callable[[Obj, Obj], PhaseChange | None]
"""A function of the Job and its new status; returns None if the phase stays."""


def change(then: Then, job: Obj, status: Obj) -> PhaseChange | None:
    """Returns the change of phase by the rule `then`."""
    return _RULES[then](job, status)


def started(job: Obj, status: Obj) -> PhaseChange | None:
    wanted = job["spec"].get("minAvailable") or 0
    begun = _sum(status, "running", "succeeded", "failed")
    if wanted <= begun:
        return _change(names.RUNNING, "EnoughStarted", {"started": begun, "minAvailable": wanted})
    return None


def ended(job: Obj, status: Obj) -> PhaseChange | None:
    spec = job["spec"]
    total = tasks.total_replicas(job)
    if total == 0:
        return None
    succeeded, failed = _sum(status, "succeeded"), _sum(status, "failed")
    least, wanted = spec.get("minSuccess"), spec.get("minAvailable") or 0
    numbers: dict[str, Number] = {"succeeded": succeeded, "failed": failed, "replicas": total}
    if least is not None and succeeded >= least:
        return _change(names.COMPLETED, "EnoughSucceeded", {**numbers, "minSuccess": least})
    if succeeded + failed == total:
        short = _task_short_of_successes(job, status) if wanted >= tasks.total_minimum(job) else None
        if short is not None:
            return _change(names.FAILED, "TaskShortOfSuccesses", {**numbers, **short})
        if least is not None:
            return _change(names.FAILED, "TooFewSucceeded", {**numbers, "minSuccess": least})
        numbers["minAvailable"] = wanted
        if succeeded >= wanted:
            return _change(names.COMPLETED, "EnoughSucceeded", numbers)
        return _change(names.FAILED, "TooFewSucceeded", numbers)
    waiting = _sum(status, "pending")
    if waiting > total - wanted:
        return _change(
            names.PENDING, "TooManyPending", {**numbers, "pending": waiting, "minAvailable": wanted}
        )
    return None


def _task_short_of_successes(job: Obj, status: Obj) -> dict[str, Number] | None:
    counts = status.get("taskStatusCount") or {}
    for task in job["spec"].get("tasks") or ():
        wanted, name = task.get("minAvailable"), task.get("name")
        if wanted is None or name not in counts:
            continue
        succeeded = (counts[name].get("phase") or {}).get("Succeeded") or 0
        if succeeded < wanted:
            return {"task": name, "taskSucceeded": succeeded, "minAvailable": wanted}
    return None


def restarted(job: Obj, status: Obj) -> PhaseChange | None:
    retries, limit = status.get("retryCount") or 0, job["spec"].get("maxRetry") or 0
    if retries >= limit:
        return _change(names.FAILED, "RetriesSpent", {"retryCount": retries, "maxRetry": limit})
    total, going = tasks.total_replicas(job), _sum(status, "terminating")
    if total - going >= (status.get("minAvailable") or 0):
        return _change(names.PENDING, "FewEnoughLeft", {"terminating": going, "replicas": total})
    return None


def _change(phase: str, code: str, numbers: Mapping[str, Number], *, retry: bool = False) -> PhaseChange:
    return PhaseChange(phase, Reason(code, {"phase": phase, **numbers}), retry)


def _to(phase: str, code: str, *, retry: bool = False) -> Rule:
    found = _change(phase, code, {}, retry=retry)
    return lambda job, status: found


def _once_gone(phase: str) -> Rule:
    found = _change(phase, "NoPodAlive", {})

    def rule(job: Obj, status: Obj) -> PhaseChange | None:
        return None if _sum(status, "terminating", "pending", "running") else found

    return rule


def _sum(status: Obj, *counters: str) -> int:
    return sum(status.get(counter) or 0 for counter in counters)


_RULES: Final[Mapping[Then, Rule]] = {
    Then.NOTHING: lambda job, status: None,
    Then.IF_STARTED: started,
    Then.IF_ENDED: ended,
    Then.IF_RESTARTED: restarted,
    Then.RESTART: _to(names.RESTARTING, "Restarted", retry=True),
    Then.COMPLETE: _to(names.COMPLETING, "ToldToComplete"),
    Then.TERMINATE: _to(names.TERMINATING, "ToldToTerminate"),
    Then.ABORT: _to(names.ABORTING, "ToldToAbort"),
    Then.COMPLETED: _once_gone(names.COMPLETED),
    Then.TERMINATED: _once_gone(names.TERMINATED),
    Then.ABORTED: _once_gone(names.ABORTED),
}
