"""The reason why a pod waits right now, as its status tells it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from longshore.api.facts import conditions, pod_state
from longshore.api.types import Obj

_STATUSES: Final = ("initContainerStatuses", "containerStatuses")
_BRIEF_REASONS: Final = ("ContainerCreating", "PodInitializing")
_SHOWN_GROUPS: Final = 3


def waiting(pods: Sequence[Obj]) -> list[str]:
    """The pods that wait, together those that wait for the same."""
    groups: dict[str, list[str]] = {}
    for pod in pods:
        if words := why_it_waits(pod):
            groups.setdefault(words, []).append(pod["metadata"]["name"])
    said = []
    for words, names in list(groups.items())[:_SHOWN_GROUPS]:
        who = f"pod {names[0]} waits" if len(names) == 1 else f"{len(names)} pods ({names[0]}, …) wait"
        said.append(f"{who}: {words}")
    if more := sum(len(names) for names in list(groups.values())[_SHOWN_GROUPS:]):
        said.append(f"{more} more pods wait")
    return said


def why_it_waits(pod: Obj) -> str:
    """Empty for a pod that runs, has ended, or is about to start."""
    if pod_state.has_ended(pod) or "deletionTimestamp" in pod["metadata"]:
        return ""
    scheduled = conditions.find(pod, "PodScheduled")
    if scheduled is not None and scheduled.get("status") == "False":
        return str(scheduled.get("message") or scheduled.get("reason") or "it has no node yet")
    status = pod.get("status") or {}
    for kind in _STATUSES:
        for container in status.get(kind) or ():
            waiting = (container.get("state") or {}).get("waiting")
            if waiting and waiting.get("reason") not in _BRIEF_REASONS:
                message = waiting.get("message") or ""
                said = f"{waiting.get('reason')}: {message}" if message else str(waiting.get("reason"))
                return f"container {container['name']}: {said}"
    return ""


def unready(pod: Obj) -> str:
    """The containers that run and are not ready, by name; empty if there are none."""
    found = [
        container["name"]
        for container in (pod.get("status") or {}).get("containerStatuses") or ()
        if (container.get("state") or {}).get("running") and container.get("ready") is False
    ]
    return ", ".join(found)
