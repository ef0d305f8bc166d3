"""Why a pod waits right now, and what ends the wait: from its status and its events."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Final, NamedTuple

from longshore.api.facts import conditions, pod_state
from longshore.api.time import rfc3339
from longshore.api.types import Obj
from longshore.machinery.sentences import counted
from longshore.why import no_node
from longshore.why.needs import Step, missing
from longshore.why.story import StoryView

_BRIEF_REASONS: Final = ("ContainerCreating", "PodInitializing")
_UNPREPARED: Final = frozenset(("FailedAttachVolume", "FailedCreatePodSandBox", "FailedMount"))
"""Reasons of events about problems that a pod's status does not show."""
_MAX_SHOWN_GROUPS: Final = 3
GROUP: Final = "scheduling.k8s.io/group-name"
"""The annotation of a pod that names its gang."""
_PATIENCE_SECONDS: Final = 5.0
"""Seconds after its creation until a pod counts as waiting for its scheduler."""


class Wait(NamedTuple):
    """A pod that waits."""

    words: str
    placed: bool
    """Whether the pod has a node; then the node retries by itself."""
    step: Step | None
    gated: bool = False
    """Whether scheduling gates keep the pod from being scheduled."""


def of(view: StoryView, pod: Obj) -> Wait | None:
    """The wait of a pod; None if it runs, has ended, or is about to start."""
    if pod_state.has_ended(pod) or "deletionTimestamp" in pod["metadata"]:
        return None
    scheduled = conditions.find(pod, "PodScheduled")
    if gates := pod["spec"].get("schedulingGates"):
        names = ", ".join(gate["name"] for gate in gates)
        said = (scheduled or {}).get("message") or "Scheduling is blocked due to non-empty scheduling gates"
        return Wait(said, False, Step(f"the scheduling gates are removed: {names}"), gated=True)
    if not pod["spec"].get("nodeName"):
        return _without_node(view, pod, scheduled)
    events = view.events if view.kind.word == "pod" else view.pod_events
    words = _container_waits(pod) or _unprepared(pod, events)
    return Wait(words, True, missing(words)) if words else None


def _without_node(view: StoryView, pod: Obj, scheduled: Obj | None) -> Wait | None:
    if scheduled is not None and scheduled.get("status") == "False":
        said = str(scheduled.get("message") or scheduled.get("reason") or "it has no node yet")
        step = no_node.step(pod, said, view.nodes, view.claims)
        return Wait(no_node.plain(said), False, step)
    created = rfc3339.seconds(pod["metadata"].get("creationTimestamp"))
    if view.now - created < _PATIENCE_SECONDS:
        return None
    name = pod["spec"].get("schedulerName") or "default-scheduler"
    return Wait(f"scheduler {name} has not looked at it", False, Step(f"scheduler {name} finds a node"))


def _container_waits(pod: Obj) -> str:
    for container in pod_state.statuses_of(pod):
        waiting = (container.get("state") or {}).get("waiting")
        message: str = (waiting or {}).get("message") or ""
        if waiting and waiting.get("reason") in _BRIEF_REASONS and message:
            return message  # of the whole pod
        if waiting and waiting.get("reason") not in _BRIEF_REASONS:
            said = f"{waiting.get('reason')}: {message}" if message else str(waiting.get("reason"))
            return f"container {container['name']}: {said}"
    return ""


def _unprepared(pod: Obj, events: Iterable[Obj]) -> str:
    """The message of the last event about a pending pod, if it says that the pod cannot be prepared."""
    if pod_state.phase_of(pod) != "Pending":
        return ""
    uid = pod["metadata"]["uid"]
    own = [event for event in events if (event.get("involvedObject") or {}).get("uid", uid) == uid]
    last = sorted(own, key=lambda event: str(event.get("lastTimestamp") or ""))[-1:]
    if not last or last[0]["reason"] not in _UNPREPARED:
        return ""
    return str(last[0].get("message") or last[0]["reason"])


# ---- many pods


def waits(view: StoryView, pods: Iterable[Obj]) -> dict[str, Wait]:
    """The pods that wait, by name."""
    return {pod["metadata"]["name"]: wait for pod in pods if (wait := of(view, pod)) is not None}


def waiting(found: Mapping[str, Wait]) -> list[str]:
    """Lines for the pods that wait; pods that wait for the same reason share a line."""
    groups: dict[str, list[str]] = {}
    for name, wait in found.items():
        groups.setdefault(wait.words, []).append(name)
    said = []
    for words, names in list(groups.items())[:_MAX_SHOWN_GROUPS]:
        who = f"pod {names[0]} waits" if len(names) == 1 else f"{len(names)} pods ({names[0]}, …) wait"
        said.append(f"{who}: {words}")
    if more := sum(len(names) for names in list(groups.values())[_MAX_SHOWN_GROUPS:]):
        said.append(f"{counted(more, 'more pod')} {'waits' if more == 1 else 'wait'}")
    return said


def steps(found: Mapping[str, Wait]) -> list[str]:
    """The next steps of an object whose pods wait: what ends the wait, and a pod to ask about."""
    told: dict[str, None] = {}
    for wait in found.values():
        if wait.step is not None:
            told[f"its pods start when {wait.step.until}"] = None
            told |= dict.fromkeys(wait.step.see)
    name = next(iter(found), "")
    more = [f"more about a pod: longshore why pod/{name}"] if name else []
    return [*list(told)[:_MAX_SHOWN_GROUPS], *more]


def unready(pod: Obj) -> str:
    """The containers that run and are not ready, by name; empty if there are none."""
    found = [
        container["name"]
        for container in pod_state.statuses_of(pod, "containerStatuses")
        if (container.get("state") or {}).get("running") and container.get("ready") is False
    ]
    return ", ".join(found)


def unplaced(pods: Sequence[Obj]) -> list[Obj]:
    """The pods that wait for a node."""
    return [
        pod
        for pod in pods
        if not pod["spec"].get("nodeName")
        and not pod_state.has_ended(pod)
        and "deletionTimestamp" not in pod["metadata"]
    ]


def unstarted(pods: Sequence[Obj]) -> list[Obj]:
    """The pods with a node that have not started and whose status does not say why."""
    return [
        pod
        for pod in pods
        if pod["spec"].get("nodeName")
        and pod_state.phase_of(pod) == "Pending"
        and "deletionTimestamp" not in pod["metadata"]
        and not _container_waits(pod)
    ]
