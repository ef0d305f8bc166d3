"""Decides which pods to remove because nothing else will: a pure function of pods, nodes and lost nodes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from enum import Enum
from typing import Final

import msgspec

from longshore.api.facts import conditions, owners
from longshore.api.types import Obj
from longshore.machinery.reasons import Reason

PERIOD_SECONDS: Final = 20.0
TERMINATED_POD_THRESHOLD: Final = 12500
_ALIVE: Final = ("Pending", "Running", "Unknown")
_OUT_OF_SERVICE: Final = "node.kubernetes.io/out-of-service"


class Cause(Enum):
    """The reason for a removal, as upstream's metrics name it."""

    TERMINATED = "terminated"
    OUT_OF_SERVICE = "out-of-service"
    ORPHANED = "orphaned"
    UNSCHEDULED = "unscheduled"

    @property
    def why(self) -> Reason:
        return _WHY[self]


_WHY: Final = {
    Cause.TERMINATED: Reason("TooManyEnded"),
    Cause.OUT_OF_SERVICE: Reason("NodeOutOfService"),
    Cause.ORPHANED: Reason("NodeGone"),
    Cause.UNSCHEDULED: Reason("DeletedUnscheduled"),
}


class PodGcView(msgspec.Struct, frozen=True):
    """The input of `decide`."""

    ended: Sequence[Obj]
    """Pods in phases other than Pending, Running and Unknown."""
    deleting: Sequence[Obj]
    """Pods with a deletionTimestamp."""
    on_lost_nodes: Sequence[Obj]
    """Pods of nodes that have been missing for a while, in the cache and on the server."""
    nodes: Mapping[str, Obj]
    threshold: int = TERMINATED_POD_THRESHOLD
    """The number of ended pods to keep; 0 for any number."""


class Removal(msgspec.Struct, frozen=True):
    pod: Obj
    cause: Cause


class PodGcPlan(msgspec.Struct, frozen=True):
    """The pods to remove, each once, in order."""

    removals: tuple[Removal, ...] = ()
    why: tuple[Reason, ...] = ()
    """Each cause once, with the number of pods."""
    look_again: float = PERIOD_SECONDS


def decide(view: PodGcView) -> PodGcPlan:
    found: dict[str, Removal] = {}

    def remove(pods: Iterable[Obj], cause: Cause) -> None:
        for pod in pods:
            found.setdefault(pod["metadata"]["uid"], Removal(pod, cause))

    remove(_excess(view.ended, view.threshold), Cause.TERMINATED)
    stopped = {name for name, node in view.nodes.items() if _out_of_service(node)}
    remove((pod for pod in view.deleting if _node(pod) in stopped), Cause.OUT_OF_SERVICE)
    remove(view.on_lost_nodes, Cause.ORPHANED)
    remove((pod for pod in view.deleting if not _node(pod)), Cause.UNSCHEDULED)
    counts = Counter(removal.cause for removal in found.values())
    why = tuple(cause.why._replace(numbers={"pods": count}) for cause, count in counts.items())
    return PodGcPlan(tuple(found.values()), why)


def lost(assigned: Iterable[str], nodes: Collection[str]) -> set[str]:
    """Returns the names of nodes that pods are assigned to and that do not exist."""
    return {name for name in assigned if name not in nodes}


def ended(pod: Obj) -> bool:
    return _status(pod).get("phase") not in _ALIVE


def _excess(pods: Sequence[Obj], threshold: int) -> Sequence[Obj]:
    """Returns the pods over the threshold: evicted ones first, as upstream; then succeeded, then failed ones.
    The newest pod of each owner comes last, so that it can show how the owner's work ended."""
    count = len(pods) - threshold
    if threshold <= 0 or count <= 0:
        return ()
    newest: dict[str, Obj] = {}
    for pod in pods:
        if owner := _owner(pod):
            newest[owner] = max(newest.get(owner, pod), pod, key=_age)
    last = {pod["metadata"]["uid"] for pod in newest.values()}
    return sorted(pods, key=lambda pod: _rank(pod, is_last=pod["metadata"]["uid"] in last))[:count]


def _rank(pod: Obj, *, is_last: bool) -> tuple[bool, bool, bool, str, str]:
    """Sort key: pods to remove first come first."""
    status = _status(pod)
    failed = status.get("phase") == "Failed"
    evicted = failed and status.get("reason") == "Evicted"
    return is_last, not evicted, failed, *_age(pod)


def _age(pod: Obj) -> tuple[str, str]:
    meta = pod["metadata"]
    return meta.get("creationTimestamp") or "", meta["name"]


def _owner(pod: Obj) -> str:
    """Returns the uid of the pod's controller, such as its Job; empty if it has none."""
    uid: str = (owners.controller_of(pod) or {}).get("uid", "")
    return uid


def _out_of_service(node: Obj) -> bool:
    taints = (node.get("spec") or {}).get("taints") or ()
    if not any(taint["key"] == _OUT_OF_SERVICE for taint in taints):
        return False
    return not conditions.holds(node, "Ready")


def _node(pod: Obj) -> str:
    return (pod.get("spec") or {}).get("nodeName") or ""


def _status(obj: Obj) -> Obj:
    return obj.get("status") or {}
