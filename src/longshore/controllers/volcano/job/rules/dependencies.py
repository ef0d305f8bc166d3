"""Decides whether the tasks that a task depends on are ready. Pure."""

from __future__ import annotations

from longshore.api.facts import pod_state
from longshore.api.types import Obj
from longshore.controllers.volcano.job.pods import tasks
from longshore.controllers.volcano.job.view import VolcanoJobView


def waits_for(view: VolcanoJobView, task: Obj) -> str:
    """Describes the tasks that this one waits for; empty if its pods may be created."""
    needs = task.get("dependsOn") or {}
    names: list[str] = needs.get("name") or []
    if not names:
        return ""
    found = {name: _ready(view, name) for name in names}
    if needs.get("iteration") == "any" and len(names) > 1:
        done = any(not short for short in found.values())
        return "" if done else f"one of {', '.join(found.values())}"
    return ", ".join(short for short in found.values() if short)


def _ready(view: VolcanoJobView, name: str) -> str:
    """Describes what the task lacks; empty if enough of its pods succeeded or are ready."""
    task = tasks.find(view.job, name)
    if task is None:
        return f"task {name!r}, which does not exist"
    wanted = task.get("minAvailable")
    if wanted is None:
        return ""
    there = sum(map(_counts, view.by_index(task)[0].values()))
    return "" if there >= wanted else f"task {name!r} ({there} of {wanted} pods ready)"


def _counts(pod: Obj) -> bool:
    phase = tasks.phase(pod)
    if phase == "Succeeded":
        return True
    containers = pod_state.statuses_of(pod, "containerStatuses")
    return phase == "Running" and all(container.get("ready") for container in containers)
