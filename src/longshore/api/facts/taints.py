"""Taints of nodes: the ones that the control plane sets, and which pods tolerate a taint."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from longshore.api.types import Obj

_HARD: Final = ("NoSchedule", "NoExecute")
_SOFT: Final = "PreferNoSchedule"
NOT_READY: Final = "node.kubernetes.io/not-ready"
UNREACHABLE: Final = "node.kubernetes.io/unreachable"
DISK_PRESSURE: Final = "node.kubernetes.io/disk-pressure"
UNSCHEDULABLE: Final[Obj] = {"key": "node.kubernetes.io/unschedulable", "effect": "NoSchedule"}


def untolerated(taints: Iterable[Obj], tolerations: Sequence[Obj]) -> Obj | None:
    """The first taint that keeps a pod with these tolerations away."""
    for taint in taints:
        if taint.get("effect") in _HARD and not tolerated(taint, tolerations):
            return taint
    return None


def disliked(taints: Iterable[Obj], tolerations: Sequence[Obj]) -> int:
    """How many PreferNoSchedule taints of the node the pod does not tolerate."""
    return sum(taint.get("effect") == _SOFT and not tolerated(taint, tolerations) for taint in taints)


def tolerated(taint: Obj, tolerations: Sequence[Obj]) -> bool:
    return any(tolerates(toleration, taint) for toleration in tolerations)


def tolerates(toleration: Obj, taint: Obj) -> bool:
    effect, key = toleration.get("effect"), toleration.get("key")
    if effect and effect != taint.get("effect"):
        return False
    if key and key != taint.get("key"):
        return False
    value, against = toleration.get("value") or "", taint.get("value") or ""
    match toleration.get("operator") or "Equal":
        case "Exists":
            return True
        case "Equal":
            return bool(key) and value == against
        case "Lt":
            return _number(against) is not None and _below(against, value)
        case "Gt":
            return _number(against) is not None and _below(value, against)
    return False


def _below(smaller: str, larger: str) -> bool:
    one, other = _number(smaller), _number(larger)
    return one is not None and other is not None and one < other


def _number(text: str) -> int | None:
    try:
        return int(text)
    except ValueError:
        return None
