"""The rules that change a Job's phase. Pure: from the Job and its new counters to a phase and the reason."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final, NamedTuple

from longshore.api.types import Obj
from longshore.controllers.volcano.job.pods import tasks
from longshore.controllers.volcano.job.rules.table import Then
from longshore.controllers.volcano.names import (
    ABORTED,
    ABORTING,
    COMPLETED,
    COMPLETING,
    FAILED,
    PENDING,
    RESTARTING,
    RUNNING,
    TERMINATED,
    TERMINATING,
)
from longshore.machinery.reasons import Number, Reason


class Change(NamedTuple):
    """To which phase, and why. The words begin with the phase."""

    phase: str
    why: Reason
    retry: bool = False
    """Whether it spends one of the Job's retries."""


Rule = Callable[[Obj, Obj], Change | None]
"""From the Job and the status about to be written; None leaves the phase alone."""


def change(then: Then, job: Obj, status: Obj) -> Change | None:
    """The change of `status` by `then`."""
    return _RULES[then](job, status)


def started(job: Obj, status: Obj) -> Change | None:
    wanted = job["spec"].get("minAvailable") or 0
    begun = _sum(status, "running", "succeeded", "failed")
    if wanted <= begun:
        numbers = {"started": begun, "minAvailable": wanted}
        return _change(RUNNING, "EnoughStarted", f"{begun} pods have started, {wanted} are needed", numbers)
    return None


def ended(job: Obj, status: Obj) -> Change | None:
    spec = job["spec"]
    total = tasks.total_replicas(job)
    if total == 0:
        return None
    succeeded, failed = _sum(status, "succeeded"), _sum(status, "failed")
    least, wanted = spec.get("minSuccess"), spec.get("minAvailable") or 0
    numbers: dict[str, Number] = {"succeeded": succeeded, "failed": failed, "replicas": total}
    if least is not None and succeeded >= least:
        words = f"{succeeded} pods succeeded, minSuccess is {least}"
        return _change(COMPLETED, "EnoughSucceeded", words, numbers)
    if succeeded + failed == total:
        short = _task_short_of_successes(job, status) if wanted >= tasks.total_minimum(job) else None
        if short is not None:
            return _change(FAILED, "TaskShortOfSuccesses", short, numbers)
        if least is not None:
            words = f"all pods ended and {succeeded} succeeded, minSuccess is {least}"
            return _change(FAILED, "TooFewSucceeded", words, numbers)
        if succeeded >= wanted:
            words = f"all pods ended and {succeeded} succeeded, {wanted} are needed"
            return _change(COMPLETED, "EnoughSucceeded", words, numbers)
        words = f"all pods ended and only {succeeded} succeeded, {wanted} are needed"
        return _change(FAILED, "TooFewSucceeded", words, numbers)
    waiting = _sum(status, "pending")
    if waiting > total - wanted:
        words = f"{waiting} of {total} pods wait, so that fewer than {wanted} can be there"
        return _change(PENDING, "TooManyPending", words, numbers | {"pending": waiting})
    return None


def _task_short_of_successes(job: Obj, status: Obj) -> str | None:
    counts = status.get("taskStatusCount") or {}
    for task in job["spec"].get("tasks") or ():
        wanted, name = task.get("minAvailable"), task.get("name")
        if wanted is None or name not in counts:
            continue
        succeeded = (counts[name].get("phase") or {}).get("Succeeded") or 0
        if succeeded < wanted:
            return f"{succeeded} pods of task {name!r} succeeded, {wanted} are needed"
    return None


def restarted(job: Obj, status: Obj) -> Change | None:
    retries, limit = status.get("retryCount") or 0, job["spec"].get("maxRetry") or 0
    if retries >= limit:
        numbers = {"retryCount": retries, "maxRetry": limit}
        return _change(FAILED, "RetriesSpent", f"{retries} retries are spent, maxRetry is {limit}", numbers)
    total, going = tasks.total_replicas(job), _sum(status, "terminating")
    if total - going >= (status.get("minAvailable") or 0):
        words = f"{going} of {total} pods are still going, few enough to start again"
        return _change(PENDING, "FewEnoughLeft", words, {"terminating": going, "replicas": total})
    return None


def _change(phase: str, code: str, words: str, numbers: Mapping[str, Number]) -> Change:
    return Change(phase, Reason(code, f"{phase}: {words}", numbers))


def _to(phase: str, code: str, words: str, *, retry: bool = False) -> Rule:
    found = Change(phase, Reason(code, f"{phase}: {words}"), retry)
    return lambda job, status: found


def _once_gone(phase: str) -> Rule:
    found = Change(phase, Reason("NoPodAlive", f"{phase}: no pod is alive any more"))

    def rule(job: Obj, status: Obj) -> Change | None:
        return None if _sum(status, "terminating", "pending", "running") else found

    return rule


def _sum(status: Obj, *counters: str) -> int:
    return sum(status.get(counter) or 0 for counter in counters)


_RULES: Final[Mapping[Then, Rule]] = {
    Then.NOTHING: lambda job, status: None,
    Then.IF_STARTED: started,
    Then.IF_ENDED: ended,
    Then.IF_RESTARTED: restarted,
    Then.RESTART: _to(RESTARTING, "Restarted", "it is restarted, which spends a retry", retry=True),
    Then.COMPLETE: _to(COMPLETING, "ToldToComplete", "it is told to complete"),
    Then.TERMINATE: _to(TERMINATING, "ToldToTerminate", "it is told to terminate"),
    Then.ABORT: _to(ABORTING, "ToldToAbort", "it is told to abort"),
    Then.COMPLETED: _once_gone(COMPLETED),
    Then.TERMINATED: _once_gone(TERMINATED),
    Then.ABORTED: _once_gone(ABORTED),
}
