"""Finds the missing and the surplus pods of a Job, and the tasks that wait for other tasks. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice
from typing import Final

import msgspec

from longshore.api.facts import pod_state
from longshore.api.types import Obj
from longshore.controllers.volcano import plugins
from longshore.controllers.volcano.job.pods import building, tasks
from longshore.controllers.volcano.job.status import PhaseCount
from longshore.controllers.volcano.job.view import VolcanoJobView
from longshore.machinery.reasons import Number, Reason

MAX_CREATED_PODS: Final = 1000
"""The limit of creates in one sync: a Job may want billions of pods, and other Jobs must get a turn."""


class Population(msgspec.Struct, frozen=True):
    """The pods that a sync creates and deletes."""

    create: Sequence[tuple[str, Obj]] = ()
    """Tasks and bodies of new pods."""
    delete: Sequence[Obj] = ()
    count: PhaseCount = msgspec.field(default_factory=PhaseCount)
    """The existing pods."""
    why: tuple[Reason, ...] = ()
    more: bool = False
    """Whether more pods are missing, which the next sync creates."""


def populate(view: VolcanoJobView) -> Population:
    """Finds the missing and the surplus pods. Raises `plugins.PluginError`."""
    job = view.job
    count, create, delete, why = PhaseCount(), list[tuple[str, Obj]](), [], []
    more = False
    changed_by = plugins.enabled(job)
    for task in job["spec"].get("tasks") or ():
        name, wanted = task["name"], tasks.replicas(task)
        there, others = view.by_index(task)
        for _, pod in sorted(there.items()):
            if view.is_going(pod):
                count.going()
            else:
                count.add(name, pod)
                if tasks.marked(pod):
                    delete.append(pod)
        surplus = [pod for pod in others if not view.is_going(pod)]
        count.going(len(others) - len(surplus))
        delete += surplus
        if surplus:
            why.append(Reason("TooManyPods", {"task": name, "pods": len(surplus)}))
        missing = wanted - len(there)
        if missing and (blocked := _waits_for(view, task)):
            why.append(Reason("TaskWaits", {"task": name, "waitsFor": blocked, "pods": missing}))
        elif missing:
            some = min(missing, MAX_CREATED_PODS - len(create))
            more = more or some < missing
            numbers: dict[str, Number] = {"task": name, "pods": some, "replicas": wanted}
            why.append(Reason("PodsCreated", numbers if some == missing else {**numbers, "missing": missing}))
            for index in islice((index for index in range(wanted) if index not in there), some):
                body = building.pod(job, task, index)
                for plugin in changed_by:
                    plugin.on_pod_create(body, job)
                create.append((name, body))
    return Population(create, delete, count, tuple(why), more)


def _waits_for(view: VolcanoJobView, task: Obj) -> str:
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
