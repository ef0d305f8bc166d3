"""How well nodes suit a task: the sum of the scores of all plugins that order nodes. Also their filters.

`nodeorder` uses the scores of the pod scheduler; `binpack` prefers fuller nodes.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from longshore.scheduler.amounts import CPU, MEMORY
from longshore.scheduler.fitting.affinity import NamespaceLabels
from longshore.scheduler.gang.conf.plugin_table import NODE_ORDER, PREDICATE
from longshore.scheduler.gang.model.task import Task
from longshore.scheduler.gang.plugins.cycle_plugins import GangPlugins
from longshore.scheduler.gang.settings import Plugin, Settings
from longshore.scheduler.ledger import Node
from longshore.scheduler.single import scoring
from longshore.scheduler.single.scoring import Weights

_MAX_SCORE: Final = 100.0
_VIEWS: Final = {
    "emptiness": "leastrequested",
    "fullness": "mostrequested",
    "balance": "balancedresource",
    "node_affinity": "nodeaffinity",
    "pod_affinity": "podaffinity",
    "taints": "tainttoleration",
    "spread": "podtopologyspread",
}
"""The arguments of `nodeorder`, without `.weight`."""
_NOTHING: Final = Weights(0, 0, 0, 0, 0, 0, 0)


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


class NodeScores:
    """The scores of one scheduler's settings."""

    def __init__(self, settings: Settings) -> None:
        self._weights = _weights(settings.plugin("nodeorder", NODE_ORDER))
        binpack = settings.plugin("binpack", NODE_ORDER)
        self._packing = {} if binpack is None else _packing(binpack)
        self._packing_weight = 0.0 if binpack is None else _MAX_SCORE * binpack.argument("binpack.weight")

    def by_resources(self, task: Task, node: Node) -> float:
        """The score of a node if only resources count."""
        return scoring.by_resources(task.pod, node, self._weights) + self._packed(task, node)

    def of(
        self, task: Task, nodes: Sequence[Node], namespaces: NamespaceLabels, *, indifferent: bool
    ) -> dict[str, float]:
        """Scores by node. `indifferent`: no pod on the nodes has an affinity."""
        found = scoring.scores(task.pod, nodes, namespaces, indifferent=indifferent, weights=self._weights)
        for node in nodes:
            found[node.name] += self._packed(task, node)
        return found

    def _packed(self, task: Task, node: Node) -> float:
        """A higher score for fuller nodes; 0 if the task would not fit."""
        if not self._packing:
            return 0.0
        score = weights = 0.0
        for name, amount in task.requests.items():
            weight = self._packing.get(name, 0.0)
            if not weight:
                continue
            all_, with_it = node.allocatable.get(name, 0), node.used.get(name, 0) + amount
            if not all_ or with_it > all_:
                return 0.0
            score += weight * with_it / all_
            weights += weight
        return self._packing_weight * score / weights if weights else 0.0


def _weights(nodeorder: Plugin | None) -> Weights:
    if nodeorder is None:
        return _NOTHING
    return Weights(**{view: nodeorder.argument(f"{name}.weight") for view, name in _VIEWS.items()})


def _packing(binpack: Plugin) -> dict[str, float]:
    """The weight of each resource that counts."""
    named, given = binpack.argument("binpack.resources"), binpack.argument("binpack.resources.*")
    return {
        CPU: binpack.argument("binpack.cpu"),
        MEMORY: binpack.argument("binpack.memory"),
        **{name: given.get(name, 1.0) for name in named},
    }
