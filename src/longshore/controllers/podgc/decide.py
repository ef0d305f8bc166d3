"""Which pods nobody else will remove. A pure function of pods, nodes and the nodes known to be gone."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from enum import Enum
from typing import Final

import msgspec

from longshore.api.facts import conditions
from longshore.api.types import Obj
from longshore.machinery.reasons import Reason

PERIOD_SECONDS: Final = 20.0
TERMINATED_POD_THRESHOLD: Final = 12500
_ALIVE: Final = ("Pending", "Running", "Unknown")
_OUT_OF_SERVICE: Final = "node.kubernetes.io/out-of-service"


class Cause(Enum):
    """The reason of a removal, as upstream's metrics call it."""

    TERMINATED = "terminated"
    OUT_OF_SERVICE = "out-of-service"
    ORPHANED = "orphaned"
    UNSCHEDULED = "unscheduled"

    @property
    def why(self) -> Reason:
        return _WHY[self]


_WHY: Final = {
    Cause.TERMINATED: Reason("TooManyEnded", "there are more ended pods than may be kept"),
    Cause.OUT_OF_SERVICE: Reason("NodeOutOfService", "it is being deleted on a node that is out of service"),
    Cause.ORPHANED: Reason("NodeGone", "its node no longer exists"),
    Cause.UNSCHEDULED: Reason("DeletedUnscheduled", "it is being deleted and was never assigned to a node"),
}


class View(msgspec.Struct, frozen=True):
    """All that `decide` may know."""

    ended: Sequence[Obj]
    """Pods in phases other than Pending, Running and Unknown."""
    deleting: Sequence[Obj]
    """Pods with a deletionTimestamp."""
    on_lost_nodes: Sequence[Obj]
    """Pods of nodes that do not exist, neither here nor on the server, and have not for a while."""
    nodes: Mapping[str, Obj]
    threshold: int = TERMINATED_POD_THRESHOLD
    """How many ended pods may be kept; 0 for any number."""


class Removal(msgspec.Struct, frozen=True):
    pod: Obj
    cause: Cause


class Plan(msgspec.Struct, frozen=True):
    """The pods to remove, each once, in order."""

    removals: tuple[Removal, ...] = ()
    why: tuple[Reason, ...] = ()
    """Each cause once, with the number of its pods."""
    look_again: float = PERIOD_SECONDS


def decide(view: View) -> Plan:
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
    return Plan(tuple(found.values()), why)


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
