"""Filters and scores of plugins for a task on a node, beside Kubernetes' own."""

from __future__ import annotations

from longshore.scheduler.gang.conf.plugin_table import NODE_ORDER, PREDICATE
from longshore.scheduler.gang.model.task import Task
from longshore.scheduler.gang.plugins.cycle_plugins import GangPlugins
from longshore.scheduler.ledger import Node


class NodeRules:
    """The plugin filters and scores of one cycle. They cost nothing if there are none."""

    def __init__(self, plugins: GangPlugins | None = None) -> None:
        filtering, scoring = (plugins.at(PREDICATE), plugins.at(NODE_ORDER)) if plugins else ((), ())
        self._filters = [hook for each in filtering if (hook := each.filter_node) is not None]
        self._scores = [score for each in scoring if (score := each.score_node) is not None]

    def __bool__(self) -> bool:
        return bool(self._filters or self._scores)

    def problem(self, task: Task, node: Node) -> str:
        """The first reason that keeps a task off a node; empty if there is none."""
        return next((said for rule in self._filters if (said := rule(task, node))), "")

    def score(self, task: Task, node: Node) -> float:
        return sum(rule(task, node) for rule in self._scores)
