"""The heart of the controller: pure functions from a view of a Job to what to do about its pods, and why.

A sync goes `populate`, then `concluded`; a kill goes `select`, then `killed`. In between sync.py and kill.py
do what they say.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Final

from longshore.api.facts import pod_state
from longshore.api.types import Obj
from longshore.controllers.volcano import plugins
from longshore.controllers.volcano.job import status
from longshore.controllers.volcano.job.pods import building, tasks
from longshore.controllers.volcano.job.rules import dependencies, phases
from longshore.controllers.volcano.job.rules.phases import Change
from longshore.controllers.volcano.job.rules.table import Kind, Step, Then
from longshore.controllers.volcano.job.status import Count
from longshore.controllers.volcano.job.view import View
from longshore.controllers.volcano.job.waking.requests import Request
from longshore.controllers.volcano.names import (
    RESTART_PARTITION,
    RESTART_POD,
    pod_name,
)


@dataclass(frozen=True, slots=True)
class Population:
    """What a sync does with pods."""

    create: Sequence[tuple[str, Obj]] = ()
    """Tasks and bodies of new pods."""
    delete: Sequence[Obj] = ()
    count: Count = field(default_factory=Count)
    """The pods that are there."""
    why: tuple[str, ...] = ()


def populate(view: View) -> Population:
    """The pods that are missing and those that are too many. Raises `plugins.PluginError`."""
    job = view.job
    count, create, delete, why = Count(), [], [], []
    changed_by = plugins.enabled(job)
    for task in job["spec"].get("tasks") or ():
        name = task["name"]
        there = dict(view.pods.get(name, {}))
        missing = []
        for index in range(tasks.replicas(task)):
            pod = there.pop(pod_name(job["metadata"]["name"], name, index), None)
            if pod is None:
                missing.append(index)
            elif view.is_going(pod):
                count.going()
            else:
                count.add(name, pod)
                if tasks.marked(pod):
                    delete.append(pod)
        surplus = [pod for pod in there.values() if not view.is_going(pod)]
        count.going(len(there) - len(surplus))
        delete += surplus
        if surplus:
            why.append(f"task {name!r} has {len(surplus)} pods too many")
        if missing and (blocked := dependencies.waits_for(view, task)):
            why.append(f"task {name!r} waits for {blocked}")
        elif missing:
            why.append(f"task {name!r} lacks {len(missing)} of {tasks.replicas(task)} pods: creates them")
            for index in missing:
                pod = building.pod(job, task, index)
                for plugin in changed_by:
                    plugin.on_pod_create(pod, job)
                create.append((name, pod))
    return Population(create, delete, count, tuple(why))


@dataclass(frozen=True, slots=True)
class Conclusion:
    """The status to write, if any."""

    status: Obj | None
    change: Change | None
    why: tuple[str, ...] = ()


def concluded(job: Obj, count: Count | None, then: Then, now: float) -> Conclusion:
    """The status after a sync that counted so many pods; None for one that could not look at them."""
    before: Obj = job.get("status") or {}
    made = before
    if count is not None:
        made = {
            key: value for key, value in status.counted(before, count).items() if key != "runningDuration"
        }
        wanted = job["spec"].get("minAvailable") or 0
        made.pop("minAvailable", None)
        if wanted:
            made["minAvailable"] = wanted
    change = phases.change(then, job, made)
    why = () if change is None else (f"{change.phase}: {change.why}",)
    if change is not None:
        made = status.changed(made, change)
    if made == before:
        return Conclusion(None, None, why)
    return Conclusion(status.stamped(made, now), change, why)


@dataclass(frozen=True, slots=True)
class Selection:
    """What a kill removes."""

    delete: Sequence[Obj]
    going: int
    """Pods that are on their way out already."""
    total: int
    whole: bool
    why: tuple[str, ...]


NOTHING_LEFT: Final = Selection((), 0, 0, False, ("all its pods are gone already",))


def select(view: View, step: Step, action: str, request: Request) -> Selection | None:
    """The pods that a kill removes; None when the target is nothing that could be killed."""
    if step.kind is Kind.TARGETED:
        return _target(view, action, request)
    pods = [pod for found in view.pods.values() for pod in found.values()]
    going = sum(view.is_going(pod) for pod in pods)
    soft = step.soft or _last_retry(view.job)
    delete = [pod for pod in pods if not view.is_going(pod) and not (soft and pod_state.has_ended(pod))]
    kept = len(pods) - going - len(delete)
    why = f"deletes {len(delete)} pods" + (f", keeps {kept} that have ended" if kept else "")
    return Selection(delete, going, len(pods), True, (why,))


def _last_retry(job: Obj) -> bool:
    """Pods that ended in the last run are kept, for whoever wants to know why it failed."""
    retries = (job.get("status") or {}).get("retryCount") or 0
    return retries >= (job["spec"].get("maxRetry") or 0) - 1


def _target(view: View, action: str, request: Request) -> Selection | None:
    found: Iterable[Obj] = view.pods.get(request.task, {}).values()
    said = f"task {request.task!r}"
    if action == RESTART_POD:
        found = [pod for pod in found if pod["metadata"]["name"] == request.pod]
        said = f"pod {request.pod}"
    elif action == RESTART_PARTITION:
        found = [pod for pod in found if request.partition and tasks.partition(pod) == request.partition]
        said = f"partition {request.partition!r} of {said}"
        if not found:
            return None
    pods = [*found]
    delete = [pod for pod in pods if not view.is_going(pod)]
    why = f"deletes {len(delete)} pods of {said}"
    return Selection(delete, len(pods) - len(delete), len(pods), False, (why,))


def killed(job: Obj, selection: Selection, then: Then, now: float) -> Conclusion:
    """The status after a kill. It counts this pass alone: pods that were kept are not in it."""
    before: Obj = job.get("status") or {}
    count = Count()
    count.going(selection.going + len(selection.delete))
    if not count.counters["terminating"]:
        count.counters.clear()
    made = status.counted(before, count)
    if selection.whole:
        made["version"] = (before.get("version") or 0) + 1
    change = phases.change(then, job, made)
    why: tuple[str, ...] = ()
    if change is not None:
        made = status.stamped(status.changed(made, change), now)
        why = (f"{change.phase}: {change.why}",)
    made["runningDuration"] = status.running_duration(job, made)
    return Conclusion(made, change, why)
