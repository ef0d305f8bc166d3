"""Decides conditions and taints of nodes, from the nodes and the time of each one's last sign of life. Pure.

A node without a sign of life for 50 seconds is `Unknown`. Taints follow the conditions: `NoSchedule` at once,
and `NoExecute` on nodes that are not ready or unreachable. `NoExecute` taints evict pods, so they are added
slowly: one node per ten seconds in each zone, none if most of a small zone is unhealthy, and none at all
while no node is ready, since then the fault is probably here.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from enum import Enum
from typing import Final

import msgspec

from longshore.api.facts import conditions, taints
from longshore.api.types import Obj

GRACE_SECONDS: Final = 50.0
"""Upstream's `node-monitor-grace-period`: five renewals of the Lease."""
STARTUP_GRACE_SECONDS: Final = 60.0
"""The grace period of a node that has no Ready condition yet."""
TAINTING_SECONDS: Final = 10.0
"""Seconds between the NoExecute taints of two nodes in a zone."""
_SLOW_TAINTING_SECONDS: Final = 100.0
_LARGE_ZONE_NODES: Final = 50
_PARTIAL_NODES: Final = 2
_PARTIAL_SHARE: Final = 0.55
_UNKNOWN: Final = ("Ready", "MemoryPressure", "DiskPressure", "PIDPressure")
"""The conditions that become Unknown when a node is silent."""
_KEYS: Final = {
    ("Ready", "False"): taints.NOT_READY,
    ("Ready", "Unknown"): taints.UNREACHABLE,
    ("MemoryPressure", "True"): "node.kubernetes.io/memory-pressure",
    ("DiskPressure", "True"): taints.DISK_PRESSURE,
    ("PIDPressure", "True"): "node.kubernetes.io/pid-pressure",
    ("NetworkUnavailable", "True"): "node.kubernetes.io/network-unavailable",
}
_NO_SCHEDULE_KEYS: Final = frozenset((*_KEYS.values(), taints.UNSCHEDULABLE["key"]))
_NO_EXECUTE_KEYS: Final = frozenset((taints.NOT_READY, taints.UNREACHABLE))
_REGION, _ZONE = "topology.kubernetes.io/region", "topology.kubernetes.io/zone"


class NodeLifecycleView(msgspec.Struct, frozen=True):
    """The input of `decide`."""

    nodes: Sequence[Obj]
    heard: Mapping[str, float]
    """The time of each node's last sign of life, by name, on the clock of `now`. A node that is missing here
    runs in this process, and is alive."""
    tainted: Mapping[str, float]
    """The time when a node of each zone last got a NoExecute taint, on the clock of `now`."""
    now: float
    """Monotonic seconds."""
    at: str
    """The current time in RFC 3339."""


class NodePlan(msgspec.Struct, frozen=True):
    """The writes to one node."""

    node: Obj
    conditions: list[Obj] | None = None
    """The node's new conditions; None changes nothing."""
    taints: list[Obj] | None = None
    """The node's new taints; None changes nothing."""
    tainted_zone: str | None = None
    """The node's zone, if its NoExecute taint counts towards the zone's rate limit."""

    @property
    def falls_silent(self) -> bool:
        return self.conditions is not None and conditions.holds(self.node, "Ready")


class NodeLifecyclePlan(msgspec.Struct, frozen=True):
    nodes: tuple[NodePlan, ...]
    """Nodes to write to."""
    silent: tuple[str, ...]
    """Names of the nodes whose pods are marked as not ready."""
    look_again: float | None
    """Seconds until the next sync; None if only a change causes one."""


class _Zone(Enum):
    NORMAL = "normal"
    PARTIAL = "partial disruption"
    FULL = "full disruption"


def decide(view: NodeLifecycleView) -> NodeLifecyclePlan:
    fresh = {node["metadata"]["name"]: _conditions(node, view) for node in view.nodes}
    ready: dict[str, list[bool]] = {}
    for node in view.nodes:
        ready.setdefault(zone_of(node), []).append(conditions.is_true(_after(node, fresh), "Ready"))
    states = {zone: _state(found) for zone, found in ready.items()}
    none_is_ready = all(state is _Zone.FULL for state in states.values())
    waits: list[float] = []
    plans, tainted = [], dict(view.tainted)
    for node in view.nodes:
        after, zone = _after(node, fresh), zone_of(node)
        wanted = None if none_is_ready else _no_execute(after)
        had = _no_execute_keys(node)
        pause = _pause(states[zone], len(ready[zone]))
        limited = wanted is not None and not had
        if limited and (pause is None or view.now < tainted.get(zone, view.now - pause) + pause):
            if pause is not None:
                waits.append(tainted[zone] + pause - view.now)
            wanted, limited = None, False
        if limited:
            tainted[zone] = view.now
        new = _taints(node, after, wanted, view.at)
        fresh_conditions = fresh[node["metadata"]["name"]]
        if fresh_conditions is not None or new is not None:
            plans.append(NodePlan(node, fresh_conditions, new, zone if limited else None))
        if (left := _until_silent(node, view)) is not None:
            waits.append(left)
    silent = tuple(
        node["metadata"]["name"] for node in view.nodes if _ready(_after(node, fresh)) == "Unknown"
    )
    return NodeLifecyclePlan(tuple(plans), silent, min(waits, default=None))


def zone_of(node: Obj) -> str:
    """Returns the region and zone of a node, by its labels; nodes without them share one zone."""
    labels = node["metadata"].get("labels") or {}
    return f"{labels.get(_REGION, '')}/{labels.get(_ZONE, '')}"


def _after(node: Obj, fresh: Mapping[str, list[Obj] | None]) -> list[Obj]:
    """Returns a node's conditions after the plan is carried out."""
    found = fresh[node["metadata"]["name"]]
    return found if found is not None else (node.get("status") or {}).get("conditions") or []


def _ready(found: Iterable[Obj]) -> str:
    status: str = (conditions.among(found, "Ready") or {}).get("status", "")
    return status


def _until_silent(node: Obj, view: NodeLifecycleView) -> float | None:
    """Returns the seconds until a node counts as silent; None if it already does, or is local."""
    heard = view.heard.get(node["metadata"]["name"])
    found = conditions.find(node, "Ready")
    if heard is None or (found or {}).get("status") == "Unknown":
        return None
    left = heard + (GRACE_SECONDS if found else STARTUP_GRACE_SECONDS) - view.now
    return left if left > 0 else None


def _conditions(node: Obj, view: NodeLifecycleView) -> list[Obj] | None:
    """Returns the new conditions of a node that has become silent; None for any other."""
    heard = view.heard.get(node["metadata"]["name"])
    known = (node.get("status") or {}).get("conditions") or []
    ready = conditions.among(known, "Ready")
    grace = GRACE_SECONDS if ready else STARTUP_GRACE_SECONDS
    if heard is None or view.now < heard + grace or (ready or {}).get("status") == "Unknown":
        return None
    made = [_unknown(each, view.at) if each.get("type") in _UNKNOWN else each for each in known]
    missing = [kind for kind in _UNKNOWN if conditions.among(known, kind) is None]
    born = node["metadata"].get("creationTimestamp") or view.at
    return made + [
        {
            "type": kind,
            "status": "Unknown",
            "lastHeartbeatTime": born,
            "lastTransitionTime": view.at,
            "reason": "NodeStatusNeverUpdated",
            "message": "Kubelet never posted node status.",
        }
        for kind in missing
    ]


def _unknown(condition: Obj, at: str) -> Obj:
    if condition.get("status") == "Unknown":
        return condition
    return {
        **condition,
        "status": "Unknown",
        "lastTransitionTime": at,
        "reason": "NodeStatusUnknown",
        "message": "Kubelet stopped posting node status.",
    }


def _state(ready: Sequence[bool]) -> _Zone:
    troubled = ready.count(False)
    if troubled == len(ready):
        return _Zone.FULL
    if troubled > _PARTIAL_NODES and troubled / len(ready) >= _PARTIAL_SHARE:
        return _Zone.PARTIAL
    return _Zone.NORMAL


def _pause(state: _Zone, size: int) -> float | None:
    """Returns the seconds between two NoExecute taints in a zone; None if no other node may get one."""
    if state is not _Zone.PARTIAL:
        return TAINTING_SECONDS
    return _SLOW_TAINTING_SECONDS if size > _LARGE_ZONE_NODES else None


def _no_execute(after: Iterable[Obj]) -> str | None:
    """Returns the key of the NoExecute taint for a node with these conditions, if any."""
    key = _KEYS.get(("Ready", _ready(after)))
    return key if key in _NO_EXECUTE_KEYS else None


def _no_execute_keys(node: Obj) -> set[str]:
    return {each["key"] for each in _listed(node) if _is_no_execute(each)}


def _is_no_execute(taint: Obj) -> bool:
    return taint.get("effect") == "NoExecute" and taint.get("key") in _NO_EXECUTE_KEYS


def _is_no_schedule(taint: Obj) -> bool:
    return taint.get("effect") == "NoSchedule" and taint.get("key") in _NO_SCHEDULE_KEYS


def _listed(node: Obj) -> list[Obj]:
    return (node.get("spec") or {}).get("taints") or []


def _taints(node: Obj, after: Sequence[Obj], no_execute: str | None, at: str) -> list[Obj] | None:
    """Returns the taints of a node with these conditions; None if it has them already."""
    keys = [key for each in after if (key := _KEYS.get((each.get("type", ""), each.get("status", ""))))]
    if (node.get("spec") or {}).get("unschedulable"):
        keys.append(taints.UNSCHEDULABLE["key"])
    wanted = {(key, "NoSchedule") for key in keys}
    if no_execute is not None:
        wanted.add((no_execute, "NoExecute"))
    if not _ready(after):
        wanted.add((taints.NOT_READY, "NoSchedule"))  # a new node has this taint until it is ready
    listed = _listed(node)
    ours = {(each["key"], each["effect"]) for each in listed if _is_no_schedule(each) or _is_no_execute(each)}
    missing = wanted - ours
    if not _ready(after):
        missing.discard((taints.NOT_READY, "NoSchedule"))  # another client removed it
    if not missing and ours <= wanted:
        return None
    kept = [each for each in listed if (each["key"], each["effect"]) not in ours - wanted]
    return kept + [{"key": key, "effect": effect, "timeAdded": at} for key, effect in sorted(missing)]
