"""The end of a sync: counts pods whose finalizer was removed; sets the terminal condition if all is done."""

from __future__ import annotations

from collections.abc import Set
from functools import lru_cache

from longshore.api.time import rfc3339
from longshore.api.types import Obj
from longshore.controllers.job.ends import conditions
from longshore.controllers.job.ends.conditions import Outcome
from longshore.controllers.job.ends.tracking import settle
from longshore.controllers.job.plan import Ending, JobPlan, Tracking
from longshore.machinery import catalogue
from longshore.machinery.catalogue import Event
from longshore.machinery.reasons import Number, Reason


def finish(tracking: Tracking, status: Obj, stripped: Set[str], *, failed: bool = False) -> Ending:
    """Returns the last write, given the recorded status and the UIDs of pods that lost the finalizer.

    `failed` means that some finalizers could not be removed: their pods stay listed and the Job goes on."""
    plan = tracking.plan
    draft = dict(status)
    moved = settle(draft, tracking.holding - stripped)
    verdict = tracking.outcome
    if verdict is None or failed or tracking.limit_hit or draft["uncountedTerminatedPods"]:
        return Ending(draft, moved)
    if tracking.terminating:
        return Ending(draft, moved, why=(_waits(verdict, tracking.terminating),))
    now = rfc3339.from_seconds(plan.view.now)
    known = draft.get("conditions") or []
    changed = conditions.ensured(known, verdict.type, "True", verdict.reason, verdict.message, now)
    draft["conditions"] = changed if changed is not None else known
    if plan.spec.completions != 0:
        # A suspended Job has no startTime, and the API requires one of a finished Job whose completions are
        # not 0.
        draft.setdefault("startTime", now)
    if verdict.type == "Complete":
        # Never before startTime, even if the clock was set back. RFC 3339 texts compare like times.
        draft["completionTime"] = max(now, draft.get("startTime", now))
    counts = draft.get("succeeded") or 0, draft.get("failed") or 0, draft.get("failedIndexes") or ""
    why = (_ended(verdict.type, verdict.reason, verdict.message, *counts),)
    return Ending(draft, True, verdict, _events(plan, verdict, draft), why)


@lru_cache(maxsize=64)
def _ended(type: str, reason: str, message: str, succeeded: int, failed: int, indexes: str) -> Reason:
    """Cached, since most Jobs end with the same numbers."""
    numbers: dict[str, Number] = {"reason": reason, "succeeded": succeeded, "failed": failed}
    if type != "Complete":
        numbers["message"] = message
    if indexes:
        numbers["failedIndexes"] = indexes
    return Reason(type, numbers)


def _waits(verdict: Outcome, many: int) -> Reason:
    return Reason("PodsTerminating", {"outcome": verdict.type, "terminating": many})


@lru_cache(maxsize=64)
def _ended_event(type: str, reason: str, message: str) -> Event:
    return catalogue.event(type, {"reason": reason, "message": message})


def _events(plan: JobPlan, verdict: Outcome, status: Obj) -> tuple[Event, ...]:
    ended = _ended_event(verdict.type, verdict.reason, verdict.message)
    if not verdict.success:
        return (ended,)
    if plan.spec.completions is None or (status.get("succeeded") or 0) <= plan.spec.completions:
        return (ended,)
    return (catalogue.event("TooManySucceededPods", {}), ended)
