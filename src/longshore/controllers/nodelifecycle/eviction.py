"""Decides which pods to evict from nodes with NoExecute taints, and when. Pure.

A pod that does not tolerate all taints is evicted at once. A pod that tolerates them for some seconds is
evicted after that time, counted from when it was first seen with them. Pods that have ended or are being
deleted are left alone.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec

from longshore.api.facts import pod_state, taints
from longshore.api.types import Obj
from longshore.machinery.reasons import Reason


class EvictionView(msgspec.Struct, frozen=True):
    """The input of `decide`."""

    pods: Sequence[tuple[Obj, Sequence[Obj]]]
    """Pods of tainted nodes, each with the NoExecute taints of its node."""
    since: Mapping[str, float]
    """When each pod was first seen with such taints, by uid, on the clock of `now`."""
    now: float
    """Monotonic seconds."""


class Leaving(msgspec.Struct, frozen=True):
    pod: Obj
    why: tuple[Reason, ...]


class EvictionPlan(msgspec.Struct, frozen=True):
    leaving: tuple[Leaving, ...]
    """Pods to delete."""
    since: dict[str, float]
    """When each pod that will be evicted was first seen with the taints, by uid."""
    look_again: float | None
    """Seconds until the next eviction; None if there is none."""


def decide(view: EvictionView) -> EvictionPlan:
    leaving, since, waits = [], {}, []
    for pod, found in view.pods:
        meta = pod["metadata"]
        if "deletionTimestamp" in meta or pod_state.has_ended(pod):
            continue
        seconds = _tolerated_seconds(pod, found)
        if seconds is None:
            continue
        began = since[meta["uid"]] = view.since.get(meta["uid"], view.now)
        left = began + seconds - view.now
        if left <= 0:
            leaving.append(Leaving(pod, (_why(pod, found, seconds),)))
        else:
            waits.append(left)
    return EvictionPlan(tuple(leaving), since, min(waits, default=None))


def _why(pod: Obj, found: Sequence[Obj], seconds: float) -> Reason:
    keys = ", ".join(each["key"] for each in found)
    return Reason("NodeTainted", {"node": pod["spec"]["nodeName"], "taint": keys, "seconds": seconds})


def _tolerated_seconds(pod: Obj, found: Sequence[Obj]) -> float | None:
    """Returns how long a pod may stay with these taints; None if for ever."""
    tolerations = pod["spec"].get("tolerations") or ()
    used = []
    for taint in found:
        match = next((each for each in tolerations if taints.tolerates(each, taint)), None)
        if match is None:
            return 0.0
        used.append(match.get("tolerationSeconds"))
    limits = [max(0.0, float(seconds)) for seconds in used if seconds is not None]
    return min(limits, default=None)
