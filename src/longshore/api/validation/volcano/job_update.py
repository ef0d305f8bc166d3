"""Allowed changes to a Volcano Job: numbers of pods, minimum numbers of pods, and its priority."""

from __future__ import annotations

from typing import Final

from longshore.api.types import Obj
from longshore.api.validation.volcano import tasks

_FIXED: Final = (
    "job updates may not change fields other than `minAvailable`, `tasks[*].replicas under spec` "
    "and `PriorityClassName`"
)
_FREE: Final = ("minAvailable", "priorityClassName")
_FREE_IN_TASKS: Final = ("minAvailable", "replicas")


def validate(new: Obj, old: Obj, name: str) -> str:
    """The first thing wrong with an update, given both specs."""
    listed = new.get("tasks") or []
    for task in listed:
        if problem := _task(task, name):
            return problem
    least = new.get("minAvailable", 0)
    if least > sum(task.get("replicas", 0) for task in listed):
        return "job 'minAvailable' must not be greater than total replicas"
    if least < 0:
        return "job 'minAvailable' must be >= 0"
    if tasks.both_tiers(new.get("networkTopology")):
        return tasks.TIERS
    if any(tasks.both_tiers((t.get("partitionPolicy") or {}).get("networkTopology")) for t in listed):
        return tasks.TIERS
    if len(listed) != len(old.get("tasks") or ()):
        return "job updates may not add or remove tasks"
    return "" if _fixed(new) == _fixed(old) else _FIXED


def _task(task: Obj, job_name: str) -> str:
    name, replicas, least = task.get("name", ""), task.get("replicas", 0), task.get("minAvailable")
    if replicas < 0:
        return f"'replicas' must be >= 0 in task: {name}"
    if least is not None and least < 0:
        return f"'minAvailable' must be >= 0 in task: {name}"
    if least is not None and least > replicas:
        return f"'minAvailable' must be <= 'replicas' in task: {name}"
    return tasks.partitions(task, job_name)


def _fixed(spec: Obj) -> Obj:
    """The part of a spec that must not change. The controller writes the names of claims it created."""
    kept = {key: value for key, value in spec.items() if key not in _FREE}
    kept["tasks"] = [
        {key: value for key, value in task.items() if key not in _FREE_IN_TASKS}
        for task in spec.get("tasks") or ()
    ]
    kept["volumes"] = [
        {k: v for k, v in volume.items() if k != "volumeClaimName" or volume.get("volumeClaim") is None}
        for volume in spec.get("volumes") or ()
    ]
    return kept
