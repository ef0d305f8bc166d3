"""The PodGroup of a pod that has none. A pure function of the pod and its owners."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any, Final

from longshore.api import quantity
from longshore.api.facts import kinds, owners
from longshore.api.types import Obj
from longshore.controllers.volcano.names import quota_charge

GROUP: Final = "scheduling.k8s.io/group-name"
_PREFIX: Final = "podgroup-"
_VOLCANO: Final = "volcano.sh/"
_QUEUE: Final = "scheduling.volcano.sh/queue-name"
_MIN_MEMBER_ANNOTATION: Final = "scheduling.volcano.sh/group-min-member"
_MODE, _TIER = "volcano.sh/network-topology-mode", "volcano.sh/network-topology-highest-tier"
_OF_POD: Final = ("volcano.sh/preemptable", "volcano.sh/cooldown-time", "volcano.sh/revocable-zone")
_LABELS: Final = ("volcano.sh/preemptable", "volcano.sh/cooldown-time")
_BUDGETS: Final = ("volcano.sh/jdb-min-available", "volcano.sh/jdb-max-unavailable")
_is_count: Final = re.compile(r"\+?[0-9]{1,9}", re.ASCII).fullmatch
_is_number: Final = re.compile(r"[+-]?[0-9]{1,9}", re.ASCII).fullmatch


def name_of(pod: Obj) -> str:
    """Returns the name of the pod's group. Pods of one controller share a group."""
    owner = owners.controller_of(pod)
    return _PREFIX + str(owner["uid"] if owner is not None else pod["metadata"]["uid"])


def name_for(owner: Obj) -> str:
    """Returns the name of the group of a workload's pods."""
    return _PREFIX + str(owner["metadata"]["uid"])


def wanted(pod: Obj, owned_by: Iterable[Obj]) -> Obj:
    """Returns a new PodGroup. Annotations of the pod override those of its owners."""
    inherited: dict[str, str] = {}
    for owner in owned_by:
        inherited |= owner["metadata"].get("annotations") or {}
    own: Mapping[str, str] = pod["metadata"].get("annotations") or {}
    kept = {key: value for key, value in inherited.items() if key.startswith(_VOLCANO)}
    kept |= {key: own[key] for key in _OF_POD if key in own}
    for key in _BUDGETS:
        if key in own:
            kept[key] = own[key]
            break
    labels: Mapping[str, str] = pod["metadata"].get("labels") or {}
    meta: Obj = {
        "name": name_of(pod),
        "namespace": pod["metadata"]["namespace"],
        "ownerReferences": _owners(pod),
    }
    if kept:
        meta["annotations"] = kept
    if marks := {key: labels[key] for key in _LABELS if key in labels}:
        meta["labels"] = marks
    return {"metadata": meta, "spec": _spec(pod, own, inherited), "status": {"phase": "Pending"}}


def _spec(pod: Obj, own: Mapping[str, str], inherited: Mapping[str, str]) -> Obj:
    least = (
        int(inherited.get(_MIN_MEMBER_ANNOTATION, ""))
        if _is_count(inherited.get(_MIN_MEMBER_ANNOTATION, ""))
        else 1
    )
    spec: Obj = {"minMember": least, "minResources": _times(quota_charge(pod["spec"]), least)}
    if own.get(_QUEUE):
        spec["queue"] = own[_QUEUE]
    if pod["spec"].get("priorityClassName"):
        spec["priorityClassName"] = pod["spec"]["priorityClassName"]
    if topology := _topology({**inherited, **own}):
        spec["networkTopology"] = topology
    return spec


def _topology(annotations: Mapping[str, str]) -> Obj:
    found: dict[str, Any] = {}
    if _MODE in annotations or _TIER in annotations:
        found["mode"] = "soft" if annotations.get(_MODE) == "soft" else "hard"
    if _is_number(annotations.get(_TIER, "")):
        found["highestTierAllowed"] = int(annotations[_TIER])
    return found


def _owners(pod: Obj) -> list[Obj]:
    if owners.controller_of(pod) is not None:
        listed: list[Obj] = pod["metadata"]["ownerReferences"]
        return listed
    return [owners.controller_ref(pod, kinds.PODS)]


def _times(amounts: Mapping[str, str], count: int) -> dict[str, str]:
    if count == 1:
        return dict(amounts)
    parsed = {name: quantity.parse(amount) for name, amount in amounts.items()}
    return {name: str(quantity.Quantity(one.amount * count, one.format)) for name, one in parsed.items()}
