"""Which pods nobody else will remove. A pure function of pods, nodes and the nodes known to be gone."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Final

from longshore.api.facts import conditions
from longshore.api.types import Obj

TERMINATED_POD_THRESHOLD: Final = 12500
_ALIVE: Final = ("Pending", "Running", "Unknown")
_OUT_OF_SERVICE: Final = "node.kubernetes.io/out-of-service"


class Reason(Enum):
    """Why a pod goes, in words and as upstream's metrics call it."""

    TERMINATED = "terminated"
    OUT_OF_SERVICE = "out-of-service"
    ORPHANED = "orphaned"
    UNSCHEDULED = "unscheduled"

    @property
    def words(self) -> str:
        return _WORDS[self]


_WORDS: Final = {
    Reason.TERMINATED: "there are more ended pods than may be kept",
    Reason.OUT_OF_SERVICE: "it is being deleted on a node that is out of service",
    Reason.ORPHANED: "its node no longer exists",
    Reason.UNSCHEDULED: "it is being deleted and was never assigned to a node",
}


@dataclass(frozen=True, slots=True)
class View:
    """All that `decide` may know."""

    ended: Sequence[Obj]
    """Pods in phases other than Pending, Running and Unknown."""
    deleting: Iterable[Obj]
    """Pods with a deletionTimestamp."""
    on_lost_nodes: Iterable[Obj]
    """Pods of nodes that do not exist, neither here nor on the server, and have not for a while."""
    nodes: Mapping[str, Obj]
    threshold: int = TERMINATED_POD_THRESHOLD
    """How many ended pods may be kept; 0 for any number."""


@dataclass(frozen=True, slots=True)
class Removal:
    pod: Obj
    reason: Reason


def decide(view: View) -> list[Removal]:
    """The pods to remove, each once, in order."""
    found: dict[str, Removal] = {}

    def remove(pods: Iterable[Obj], reason: Reason) -> None:
        for pod in pods:
            found.setdefault(pod["metadata"]["uid"], Removal(pod, reason))

    remove(_excess(view.ended, view.threshold), Reason.TERMINATED)
    deleting = [*view.deleting]
    stopped = {name for name, node in view.nodes.items() if _out_of_service(node)}
    remove((pod for pod in deleting if _node(pod) in stopped), Reason.OUT_OF_SERVICE)
    remove(view.on_lost_nodes, Reason.ORPHANED)
    remove((pod for pod in deleting if not _node(pod)), Reason.UNSCHEDULED)
    return [*found.values()]


def lost(assigned: Iterable[str], nodes: Collection[str]) -> set[str]:
    """Names of nodes that pods are assigned to and that are not there."""
    return {name for name in assigned if name not in nodes}


def ended(pod: Obj) -> bool:
    return _status(pod).get("phase") not in _ALIVE


def _excess(pods: Sequence[Obj], threshold: int) -> Sequence[Obj]:
    """The pods over the threshold: evicted ones first, then the oldest."""
    count = len(pods) - threshold
    return sorted(pods, key=_rank)[:count] if threshold > 0 and count > 0 else ()


def _rank(pod: Obj) -> tuple[bool, str, str]:
    status, meta = _status(pod), pod["metadata"]
    evicted = status.get("phase") == "Failed" and status.get("reason") == "Evicted"
    return not evicted, meta.get("creationTimestamp") or "", meta["name"]


def _out_of_service(node: Obj) -> bool:
    taints = (node.get("spec") or {}).get("taints") or ()
    if not any(taint["key"] == _OUT_OF_SERVICE for taint in taints):
        return False
    return not conditions.holds(node, "Ready")


def _node(pod: Obj) -> str:
    return (pod.get("spec") or {}).get("nodeName") or ""


def _status(obj: Obj) -> Obj:
    return obj.get("status") or {}
