"""`nodegroup`: queues that want, or avoid, nodes of named groups (label `volcano.sh/nodegroup-name`)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from longshore.scheduler.gang.model.queue import Queue
from longshore.scheduler.ledger import Node

_LABEL: Final = "volcano.sh/nodegroup-name"
_REQUIRED: Final = "requiredDuringSchedulingIgnoredDuringExecution"
_PREFERRED: Final = "preferredDuringSchedulingIgnoredDuringExecution"
_SCORE: Final = 100.0


def problem(queue: Queue, node: Node) -> str:
    """Why gangs of a queue may not be on a node; empty if they may."""
    group = node.labels.get(_LABEL, "")
    wanted = _groups(queue, "nodeGroupAffinity", _REQUIRED)
    if wanted and group not in wanted:
        return "node(s) didn't match the queue's node group affinity"
    if group and group in _groups(queue, "nodeGroupAntiAffinity", _REQUIRED):
        return "node(s) didn't match the queue's node group anti-affinity"
    return ""


def score(queue: Queue, node: Node) -> float:
    """More for a group that the queue prefers, less for one that it would rather avoid."""
    group = node.labels.get(_LABEL, "")
    liked = bool(group) and group in _groups(queue, "nodeGroupAffinity", _PREFERRED)
    disliked = bool(group) and group in _groups(queue, "nodeGroupAntiAffinity", _PREFERRED)
    return _SCORE * (liked - disliked)


def _groups(queue: Queue, kind: str, how: str) -> Sequence[str]:
    affinity = (queue.obj.get("spec") or {}).get("affinity") or {}
    found: Sequence[str] = (affinity.get(kind) or {}).get(how) or ()
    return found
