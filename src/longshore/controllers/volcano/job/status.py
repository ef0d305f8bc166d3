"""A Job's status as it is written: counters, phase, conditions. Pure; leaves empty fields out."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

import msgspec

from longshore.api.facts.volcano_job_state import phase_of
from longshore.api.time import durations, rfc3339
from longshore.api.time.instants import SECOND
from longshore.api.types import Obj
from longshore.controllers.volcano.job.pods import tasks
from longshore.controllers.volcano.job.rules.phases import Change

_COUNTERS: Final = ("pending", "running", "succeeded", "failed", "terminating", "unknown")
_STAMPED: Final = frozenset(("taskStatusCount", "state", "conditions"))
_BY_PHASE: Final = {
    "Pending": "pending",
    "Running": "running",
    "Succeeded": "succeeded",
    "Failed": "failed",
}


class Count(msgspec.Struct):
    """Pods by what they do, for one pass."""

    counters: dict[str, int] = msgspec.field(default_factory=dict)
    by_task: dict[str, dict[str, int]] = msgspec.field(default_factory=dict)

    def add(self, task: str, pod: Obj) -> None:
        phase = tasks.phase(pod) or "Pending"
        counter = _BY_PHASE.get(phase, "unknown")
        self.counters[counter] = self.counters.get(counter, 0) + 1
        phases = self.by_task.setdefault(task, {})
        phases[phase] = phases.get(phase, 0) + 1

    def going(self, count: int = 1) -> None:
        self.counters["terminating"] = self.counters.get("terminating", 0) + count


def counted(status: Obj, count: Count) -> Obj:
    """`status` with the counters of this pass in place of those before."""
    made = {key: value for key, value in status.items() if key not in _COUNTERS and key != "taskStatusCount"}
    made |= {counter: number for counter in _COUNTERS if (number := count.counters.get(counter, 0))}
    if count.by_task:
        made["taskStatusCount"] = {task: {"phase": phases} for task, phases in count.by_task.items()}
    return made


def only_counts_differ(old: Obj, new: Obj) -> bool:
    """Whether two states of one phase are alike but for counters, and for the time stamped with them."""
    keys = (old.keys() | new.keys()) - _STAMPED
    return phase_of({"status": old}) == phase_of({"status": new}) and all(
        key in _COUNTERS or old.get(key) == new.get(key) for key in keys
    )


def initial(job: Obj, now: float) -> Obj:
    """Of a Job that nobody has looked at before."""
    at = rfc3339.from_seconds(now)
    status: Obj = {"state": {"phase": "Pending", "lastTransitionTime": at}}
    if wanted := job["spec"].get("minAvailable"):
        status["minAvailable"] = wanted
    return with_condition({**(job.get("status") or {}), **status}, "Pending", at)


def changed(status: Obj, change: Change) -> Obj:
    """`status` in the phase of `change`, not stamped yet."""
    made = {**status, "state": {**(status.get("state") or {}), "phase": change.phase}}
    if change.retry:
        made["retryCount"] = (status.get("retryCount") or 0) + 1
    return made


def stamped(status: Obj, now: float) -> Obj:
    """`status` with the time of its phase, and the phase as its last condition."""
    at = rfc3339.from_seconds(now)
    state = {**(status.get("state") or {}), "lastTransitionTime": at}
    return with_condition({**status, "state": state}, state.get("phase") or "", at)


def with_condition(status: Obj, phase: str, at: str) -> Obj:
    """One condition per phase; the newest is the last."""
    others = [c for c in status.get("conditions") or () if c.get("status") != phase]
    return {**status, "conditions": [*others, {"status": phase, "lastTransitionTime": at}]}


def running_duration(job: Obj, status: Obj) -> str:
    """From the Job's creation to its last transition, as Go writes a duration."""
    end = (status.get("state") or {}).get("lastTransitionTime")
    begin = job["metadata"].get("creationTimestamp")
    if not end or not begin:
        return "0s"
    return durations.text((rfc3339.parse(end) - rfc3339.parse(begin)) // SECOND * SECOND)


def with_markers(status: Obj, markers: Iterable[tuple[str, str]], gone: Iterable[str] = ()) -> Obj:
    """`status` with these resources under the Job's control, and without those."""
    controlled = {**(status.get("controlledResources") or {}), **dict(markers)}
    for key in gone:
        controlled.pop(key, None)
    made = {key: value for key, value in status.items() if key != "controlledResources"}
    return {**made, "controlledResources": controlled} if controlled else made
