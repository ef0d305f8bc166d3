"""The rules of plugins about one task on one node, beside Kubernetes' own filters and scores."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from longshore.scheduler.gang.conf.plugin_table import NODE_ORDER, PREDICATE
from longshore.scheduler.gang.model.queue import Queue
from longshore.scheduler.gang.model.task import Task
from longshore.scheduler.gang.rules import node_groups, strategy_fit, task_topology
from longshore.scheduler.gang.rules.extender import Extender
from longshore.scheduler.gang.rules.node_usage import BusyNodes, Usage
from longshore.scheduler.gang.rules.revocable_zones import Zones
from longshore.scheduler.gang.settings import Settings
from longshore.scheduler.ledger import Node

Filter = Callable[[Task, Node], str]
"""Why the task may not be on the node; empty if it may."""
Score = Callable[[Task, Node], float]


class NodeRules:
    """The rules of one cycle. Empty ones cost nothing."""

    def __init__(
        self,
        settings: Settings,
        queues: Mapping[str, Queue],
        zones: Zones | None,
        usage: Usage,
        extender: Extender | None = None,
    ) -> None:
        self.filters: list[Filter] = []
        self.scores: list[Score] = []
        if settings.plugin("nodegroup", PREDICATE) is not None:
            self.filters.append(lambda task, node: node_groups.problem(queues[task.group.queue], node))
        if settings.plugin("nodegroup", NODE_ORDER) is not None:
            self.scores.append(lambda task, node: node_groups.score(queues[task.group.queue], node))
        if zones is not None and settings.plugin("tdm", PREDICATE) is not None:
            self.filters.append(zones.problem)
        if zones is not None and settings.plugin("tdm", NODE_ORDER) is not None:
            self.scores.append(zones.score)
        if (plugin := settings.plugin("usage")) is not None:
            busy = BusyNodes(plugin, usage)
            if plugin.speaks_at(PREDICATE):
                self.filters.append(busy.problem)
            if plugin.speaks_at(NODE_ORDER):
                self.scores.append(busy.score)
        self._extender: Extender | None = None
        if extender is not None and settings.plugin("extender", PREDICATE) is not None:
            self.filters.append(extender.problem)
        if extender is not None and settings.plugin("extender", NODE_ORDER) is not None:
            self._extender = extender
            self.scores.append(extender.score)
        fit = settings.plugin("resource-strategy-fit", NODE_ORDER)
        if fit is not None:
            weight, resources = fit.argument("resourceStrategyFitWeight"), fit.argument("resources")
            self.scores.append(lambda task, node: weight * strategy_fit.score(task, node, resources))
        topology = settings.plugin("task-topology", NODE_ORDER)
        if topology is not None:
            share = topology.argument("task-topology.weight")
            self.scores.append(lambda task, node: share * task_topology.score(task.group, task, node))

    def __bool__(self) -> bool:
        return bool(self.filters or self.scores)

    def problem(self, task: Task, node: Node) -> str:
        """The first thing that keeps a task off a node; empty if nothing does."""
        return next((said for rule in self.filters if (said := rule(task, node))), "")

    def prioritized(self, task: Task, nodes: Sequence[Node]) -> str:
        """Learns what candidates are worth where somebody else says so; why none of them may be taken."""
        return "" if self._extender is None else self._extender.prioritized(task, nodes)

    def score(self, task: Task, node: Node) -> float:
        return sum(rule(task, node) for rule in self.scores)
