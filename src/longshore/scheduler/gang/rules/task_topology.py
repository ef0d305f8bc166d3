"""`task-topology`: tasks of a Job that want to share a node, or not to, and the order they are placed in.

volcano.sh/task-topology-affinity: "ps,worker"         # near each other; several groups by ;
volcano.sh/task-topology-anti-affinity: "ps"           # one name: not beside others of its own
volcano.sh/task-topology-task-order: "ps,worker"
"""

from __future__ import annotations

from collections import Counter
from typing import Final

from longshore.scheduler.gang.model.group import Group
from longshore.scheduler.gang.model.task import HOLDING, PIPELINED, Task
from longshore.scheduler.ledger import Node

_AFFINITY: Final = "volcano.sh/task-topology-affinity"
_ANTI_AFFINITY: Final = "volcano.sh/task-topology-anti-affinity"
_SCORE: Final = 100.0


def score(group: Group, task: Task, node: Node) -> float:
    """More for each task on the node that this one wants to be near, less for each that it avoids."""
    near, far = _mates(group, task, _AFFINITY), _mates(group, task, _ANTI_AFFINITY)
    if not near and not far:
        return 0.0
    there = Counter(
        other.role
        for other in group.tasks.values()
        if other.node == node.name and (other.status in HOLDING or other.status == PIPELINED)
    )
    mates, rivals = sum(there[role] for role in near), sum(there[role] for role in far)
    return _SCORE * (mates - rivals) / max(len(group.tasks), 1)


def _mates(group: Group, task: Task, key: str) -> set[str]:
    """The roles named together with that of the task. One that is named alone is meant for itself."""
    found: set[str] = set()
    for part in _note(group, key).split(";"):
        names = _names(part)
        if task.role in names:
            found.update(
                names if len(names) == 1 or key == _AFFINITY else [n for n in names if n != task.role]
            )
    return found


def _names(text: str) -> list[str]:
    return [name.strip() for name in text.split(",") if name.strip()]


def _note(group: Group, key: str) -> str:
    return str((group.obj["metadata"].get("annotations") or {}).get(key) or "")
