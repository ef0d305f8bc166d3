"""Builds a Job's status: counters, phase by a rule (phases.py), conditions. Pure; omits empty fields."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

import msgspec

from longshore.api.facts.volcano_job_state import phase_of
from longshore.api.time import durations, rfc3339
from longshore.api.time.instants import SECOND
from longshore.api.types import Obj
from longshore.controllers.volcano.job.pods import tasks
from longshore.controllers.volcano.job.pods.kill_selection import Selection
from longshore.controllers.volcano.job.rules import phases
from longshore.controllers.volcano.job.rules.phases import PhaseChange
from longshore.controllers.volcano.job.rules.table import Then

_COUNTERS: Final = ("pending", "running", "succeeded", "failed", "terminating", "unknown")
_STAMPED: Final = frozenset(("taskStatusCount", "state", "conditions"))
_BY_PHASE: Final = {
    "Pending": "pending",
    "Running": "running",
    "Succeeded": "succeeded",
    "Failed": "failed",
}


class PhaseCount(msgspec.Struct):
    """Pods by phase, counted in one sync or kill."""

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


def counted(status: Obj, count: PhaseCount) -> Obj:
    """Returns `status` with these counters in place of the old ones."""
    made = {key: value for key, value in status.items() if key not in _COUNTERS and key != "taskStatusCount"}
    made |= {counter: number for counter in _COUNTERS if (number := count.counters.get(counter, 0))}
    if count.by_task:
        made["taskStatusCount"] = {task: {"phase": phases} for task, phases in count.by_task.items()}
    return made


def only_counts_differ(old: Obj, new: Obj) -> bool:
    """Whether two statuses of one phase differ only in counters, and in the time written with them."""
    keys = (old.keys() | new.keys()) - _STAMPED
    return phase_of({"status": old}) == phase_of({"status": new}) and all(
        key in _COUNTERS or old.get(key) == new.get(key) for key in keys
    )


def initial(job: Obj, now: float) -> Obj:
    """Returns the first status of a new Job."""
    at = rfc3339.from_seconds(now)
    status: Obj = {"state": {"phase": "Pending", "lastTransitionTime": at}}
    if wanted := job["spec"].get("minAvailable"):
        status["minAvailable"] = wanted
    return with_condition({**(job.get("status") or {}), **status}, "Pending", at)


def changed(status: Obj, change: PhaseChange) -> Obj:
    """Returns `status` in the phase of `change`, without a new time."""
    made = {**status, "state": {**(status.get("state") or {}), "phase": change.phase}}
    if change.retry:
        made["retryCount"] = (status.get("retryCount") or 0) + 1
    return made


def stamped(status: Obj, now: float) -> Obj:
    """Returns `status` with the time of its phase, and the phase as its last condition."""
    at = rfc3339.from_seconds(now)
    state = {**(status.get("state") or {}), "lastTransitionTime": at}
    return with_condition({**status, "state": state}, state.get("phase") or "", at)


def with_condition(status: Obj, phase: str, at: str) -> Obj:
    """Returns `status` with one condition per phase, the newest last."""
    others = [c for c in status.get("conditions") or () if c.get("status") != phase]
    return {**status, "conditions": [*others, {"status": phase, "lastTransitionTime": at}]}


def running_duration(job: Obj, status: Obj) -> str:
    """Returns the time from the Job's creation to its last transition, in Go's format."""
    end = (status.get("state") or {}).get("lastTransitionTime")
    begin = job["metadata"].get("creationTimestamp")
    if not end or not begin:
        return "0s"
    return durations.text((rfc3339.parse(end) - rfc3339.parse(begin)) // SECOND * SECOND)


def with_markers(status: Obj, markers: Iterable[tuple[str, str]], gone: Iterable[str] = ()) -> Obj:
    """Returns `status` with `markers` added to its controlledResources, and `gone` removed."""
    controlled = {**(status.get("controlledResources") or {}), **dict(markers)}
    for key in gone:
        controlled.pop(key, None)
    made = {key: value for key, value in status.items() if key != "controlledResources"}
    return {**made, "controlledResources": controlled} if controlled else made


class Conclusion(msgspec.Struct, frozen=True):
    """The status to write, and the change of phase, if any."""

    status: Obj
    change: PhaseChange | None


def synced(job: Obj, count: PhaseCount | None, then: Then, now: float) -> Conclusion | None:
    """Returns the status after a sync with these counted pods; `count` is None if the pods were not counted.
    Returns None if the status does not change."""
    before: Obj = job.get("status") or {}
    made = before
    if count is not None:
        made = {key: value for key, value in counted(before, count).items() if key != "runningDuration"}
        wanted = job["spec"].get("minAvailable") or 0
        made.pop("minAvailable", None)
        if wanted:
            made["minAvailable"] = wanted
    change = phases.change(then, job, made)
    if change is not None:
        made = changed(made, change)
    return None if made == before else Conclusion(stamped(made, now), change)


def killed(job: Obj, selection: Selection, then: Then, now: float) -> Conclusion:
    """Returns the status after a kill. It counts only terminating pods, not those that were kept."""
    before: Obj = job.get("status") or {}
    count = PhaseCount()
    count.going(selection.going + len(selection.delete))
    if not count.counters["terminating"]:
        count.counters.clear()
    made = counted(before, count)
    if selection.whole:
        made["version"] = (before.get("version") or 0) + 1
    change = phases.change(then, job, made)
    if change is not None:
        made = stamped(changed(made, change), now)
    made["runningDuration"] = running_duration(job, made)
    return Conclusion(made, change)
