"""A pod of a gang, as one cycle sees it and places it.

Statuses are Volcano's. A task whose binding is under way is `Binding`; `Allocated` and `Pipelined` exist only
within a cycle: the first has room now, the second will have it when victims have left.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, TypeAlias

from longshore.api.facts import queue_gate
from longshore.api.facts.queue_gate import KEY
from longshore.api.facts.volcano_job_state import TASK_INDEX
from longshore.api.types import Obj
from longshore.machinery.informers.cache import Key
from longshore.scheduler.amounts import Amounts
from longshore.scheduler.fitting.pod_shape import Pod

if TYPE_CHECKING:
    from longshore.scheduler.gang.model.group import Group

PENDING, BOUND, BINDING, RUNNING = "Pending", "Bound", "Binding", "Running"
ALLOCATED, PIPELINED, RELEASING = "Allocated", "Pipelined", "Releasing"
SUCCEEDED, FAILED, UNKNOWN = "Succeeded", "Failed", "Unknown"
HOLDING: Final = frozenset((BOUND, BINDING, RUNNING, ALLOCATED))
"""Volcano's allocated statuses: the task's room counts as used."""
SCHEDULED: Final = frozenset((RUNNING, BOUND, FAILED, SUCCEEDED))
READY: Final = HOLDING | {SUCCEEDED}
VALID: Final = READY | {PIPELINED, PENDING}

GROUP_KEYS: Final = ("scheduling.k8s.io/group-name", "scheduling.volcano.sh/group-name")
ROLE: Final = "volcano.sh/task-spec"
_PRIORITY: Final = "volcano.sh/task-priority"
_PREEMPTABLE: Final = "volcano.sh/preemptable"


Subgroup: TypeAlias = tuple[int, tuple[str, ...]]
"""The number of the group's policy, and the values of the labels by which it divides."""


class Task:
    """A pod of a gang."""

    __slots__ = (
        "gated",
        "group",
        "index",
        "node",
        "pod",
        "possible",
        "preemptable",
        "priority",
        "queue_gated",
        "reserves",
        "role",
        "status",
        "subgroup",
    )

    def __init__(self, pod: Pod, status: str, node: str) -> None:
        meta = pod.obj["metadata"]
        notes, own = meta.get("annotations") or {}, meta.get("labels") or {}
        self.pod, self.status, self.node = pod, status, node
        self.role: str = notes.get(ROLE) or own.get(ROLE) or ""
        self.gated = bool(pod.obj["spec"].get("schedulingGates"))
        asks = KEY in notes and queue_gate.is_asked_for(pod.obj)
        self.queue_gated = asks and queue_gate.is_the_only_one(pod.obj)
        """Whether the task waits only for room in its queue."""
        self.reserves = asks and not self.gated and status == PENDING
        """Whether room in its queue is reserved for it."""
        self.priority = _number(notes.get(_PRIORITY), pod.obj["spec"].get("priority", 1))
        self.index = _number(own.get(TASK_INDEX), -1)
        self.preemptable = (notes.get(_PREEMPTABLE) or own.get(_PREEMPTABLE)) != "false"
        self.possible: tuple[str, str] | None = None
        """The placement that this cycle tried and undid: a status and a node."""
        self.subgroup: Subgroup | None = None
        self.group: Group
        """The gang of the task, which sets this."""

    @property
    def requests(self) -> Amounts:
        return self.pod.shape.requests

    @property
    def best_effort(self) -> bool:
        return not self.pod.shape.requests


def group_of(pod: Obj) -> Key | None:
    """The PodGroup that a pod names; None if it names none."""
    notes = pod["metadata"].get("annotations") or {}
    for key in GROUP_KEYS:
        if notes.get(key):
            return pod["metadata"].get("namespace") or "", notes[key]
    return None


def _number(text: object, otherwise: int) -> int:
    try:
        return int(str(text))
    except ValueError:
        return otherwise
