"""Plugins about a task on a node, beside Kubernetes' own filters and scores: `nodegroup`, `task-topology`,
`resource-strategy-fit`, `usage`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from longshore.scheduler.amounts import CPU, MEMORY
from longshore.scheduler.gang.cycle import Load
from longshore.scheduler.gang.model.group import Group
from longshore.scheduler.gang.model.queue import Queue
from longshore.scheduler.gang.model.task import HOLDING, PIPELINED, Task
from longshore.scheduler.gang.plugins.gang_plugin import GangPlugin
from longshore.scheduler.gang.settings import Plugin
from longshore.scheduler.ledger import Node

if TYPE_CHECKING:
    from longshore.scheduler.gang.trying.trial import Trial

FRESH_SECONDS: Final = 300.0
"""The age up to which figures are used, as in Volcano."""
_MAX_SCORE: Final = 100.0
_DEFAULT_PERCENT: Final = 80.0
_LABEL: Final = "volcano.sh/nodegroup-name"
_REQUIRED: Final = "requiredDuringSchedulingIgnoredDuringExecution"
_PREFERRED: Final = "preferredDuringSchedulingIgnoredDuringExecution"
_AFFINITY: Final = "volcano.sh/task-topology-affinity"
_ANTI_AFFINITY: Final = "volcano.sh/task-topology-anti-affinity"
_FULLER_FIRST: Final = "MostAllocated"
_DEFAULT_STRATEGIES: Final[Mapping[str, Any]] = {"cpu": {}, "memory": {}}


class NodeGroups(GangPlugin):
    """`nodegroup`: queues prefer or avoid nodes of named groups (label `volcano.sh/nodegroup-name`)."""

    def filter_node(self, task: Task, node: Node) -> str:
        queue, group = self.trial.queues[task.group.queue], node.labels.get(_LABEL, "")
        wanted = _groups(queue, "nodeGroupAffinity", _REQUIRED)
        if wanted and group not in wanted:
            return "node(s) didn't match the queue's node group affinity"
        if group and group in _groups(queue, "nodeGroupAntiAffinity", _REQUIRED):
            return "node(s) didn't match the queue's node group anti-affinity"
        return ""

    def score_node(self, task: Task, node: Node) -> float:
        """A higher score for groups that the queue prefers, a lower one for those it avoids."""
        queue, group = self.trial.queues[task.group.queue], node.labels.get(_LABEL, "")
        liked = bool(group) and group in _groups(queue, "nodeGroupAffinity", _PREFERRED)
        disliked = bool(group) and group in _groups(queue, "nodeGroupAntiAffinity", _PREFERRED)
        return _MAX_SCORE * (liked - disliked)


def _groups(queue: Queue, kind: str, how: str) -> Sequence[str]:
    affinity = (queue.obj.get("spec") or {}).get("affinity") or {}
    found: Sequence[str] = (affinity.get(kind) or {}).get(how) or ()
    return found


class TaskTopology(GangPlugin):
    """`task-topology`: which tasks of a Job share a node, which must not, and the order of their placement.

    volcano.sh/task-topology-affinity: "ps,worker"         # near each other; several groups by ;
    volcano.sh/task-topology-anti-affinity: "ps"           # one name: not beside others of its own
    volcano.sh/task-topology-task-order: "ps,worker"
    """

    def score_node(self, task: Task, node: Node) -> float:
        """A higher score for each task there that this one wants near, a lower one for those it avoids."""
        group = task.group
        near, far = _mates(group, task, _AFFINITY), _mates(group, task, _ANTI_AFFINITY)
        if not near and not far:
            return 0.0
        there = Counter(
            other.role
            for other in group.tasks.values()
            if other.node == node.name and (other.status in HOLDING or other.status == PIPELINED)
        )
        mates, rivals = sum(there[role] for role in near), sum(there[role] for role in far)
        weight: float = self.conf.argument("task-topology.weight")
        return weight * (_MAX_SCORE * (mates - rivals) / max(len(group.tasks), 1))


def _mates(group: Group, task: Task, key: str) -> set[str]:
    """The roles listed together with the task's role. A role listed alone refers to itself."""
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


class StrategyFit(GangPlugin):
    """`resource-strategy-fit`: for each resource, whether fuller or emptier nodes are better."""

    def score_node(self, task: Task, node: Node) -> float:
        """A score of 0 to 100, times the plugin's weight; 0 if the task would not fit."""
        resources: Mapping[str, Any] = self.conf.argument("resources")
        found = weights = 0.0
        for name, strategy in (resources or _DEFAULT_STRATEGIES).items():
            amount, all_ = task.requests.get(name, 0), node.allocatable.get(name, 0)
            if not amount or not all_:
                continue
            with_it = node.used.get(name, 0) + amount
            if with_it > all_:
                return 0.0
            weight = _weight(strategy)
            part = with_it / all_
            found += weight * (part if (strategy or {}).get("type") == _FULLER_FIRST else 1 - part)
            weights += weight
        score = _MAX_SCORE * found / weights if weights else 0.0
        return float(self.conf.argument("resourceStrategyFitWeight") * score)


def _weight(strategy: Mapping[str, Any] | None) -> float:
    """The weight of a resource; 1 if it is missing or invalid."""
    given = (strategy or {}).get("weight")
    return float(given) if isinstance(given, int | float) and given > 0 else 1.0


class Busy(NamedTuple):
    """The used share of a node's resources, in percent."""

    cpu: float
    memory: float


class Usage:
    """The measured use of nodes at one moment."""

    def __init__(self, loads: Mapping[str, Load], now: float) -> None:
        self._loads, self._now = loads, now

    def of(self, node: Node) -> Busy | None:
        """The use of a node; None if it is not known."""
        load = self._loads.get(node.name)
        cpu, memory = node.allocatable.get(CPU, 0), node.allocatable.get(MEMORY, 0)
        if load is None or self._now - load.at > FRESH_SECONDS or not cpu or not memory:
            return None
        return Busy(100.0 * load.cpu / cpu, 100.0 * load.memory / memory)


class BusyNodes(GangPlugin):
    """`usage`: a node that is too busy takes no more tasks; idle nodes come first. A node without fresh
    figures is treated as if the plugin were off."""

    def __init__(self, plugin: Plugin, trial: Trial) -> None:
        super().__init__(plugin, trial)
        self._usage = Usage(trial.cycle.loads, trial.now)
        limits: Mapping[str, float] = plugin.argument("thresholds")
        self._most = Busy(limits.get("cpu", _DEFAULT_PERCENT), limits.get("mem", _DEFAULT_PERCENT))
        self._weight: float = _MAX_SCORE * plugin.argument("usage.weight")
        self._weights = Busy(plugin.argument("cpu.weight"), plugin.argument("memory.weight"))

    def filter_node(self, task: Task, node: Node) -> str:
        """Why a node takes no more tasks; empty if it does."""
        busy = self._usage.of(node)
        if busy is None:
            return ""
        if busy.cpu > self._most.cpu:
            return "the CPU load of the node exceeds the upper limit."
        return (
            "the memory load of the node exceeds the upper limit." if busy.memory > self._most.memory else ""
        )

    def score_node(self, task: Task, node: Node) -> float:
        busy, weights = self._usage.of(node), self._weights
        if busy is None or not sum(weights):
            return 0.0
        idle = (100 - busy.cpu) * weights.cpu + (100 - busy.memory) * weights.memory
        return self._weight * idle / 100 / sum(weights)
