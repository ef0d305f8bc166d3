"""`rescheduling`: moves work from nodes that are measured to be busy to idle ones, once in a while.

    interval: 5m
    strategies:
    - name: lowNodeUtilization
      params:
        thresholds: {cpu: 20, memory: 20}          # a node below all of them is idle
        targetThresholds: {cpu: 50, memory: 50}    # a node above one of them is busy

Removes tasks from busy nodes, the least important first, until the node is not busy or the idle nodes
would be. Their controllers create the pods again, and the scheduler places them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from longshore.api import pod_resources
from longshore.scheduler.amounts import CPU, MEMORY
from longshore.scheduler.gang.conf.plugin_table import VICTIM
from longshore.scheduler.gang.model.task import RUNNING, Task
from longshore.scheduler.gang.plugins.gang_plugin import GangPlugin
from longshore.scheduler.gang.plugins.node_plugins import Usage
from longshore.scheduler.gang.plugins.order_plugins import is_harmless
from longshore.scheduler.gang.settings import SHUFFLE
from longshore.scheduler.ledger import Node

_RESOURCES: Final = (CPU, MEMORY)
_CLASSES: Final = ("BestEffort", "Burstable", "Guaranteed")


class Rescheduling(GangPlugin):
    removal_code = "EvictsFromBusyNode"

    def removals(self) -> list[Task]:
        trial = self.trial
        if trial.now < trial.shuffled.get(self.conf.name, 0.0) + self.conf.argument("interval"):
            return []
        running = (task for group in trial.groups.values() for task in group.in_status(RUNNING))
        tasks = [task for task in running if is_harmless(task)]
        usage = Usage(trial.cycle.loads, trial.now)
        found: list[Task] = []
        for strategy in self.conf.argument("strategies"):
            given: Mapping[str, Any] = strategy.get("params") or strategy.get("parameters") or {}
            left = [task for task in tasks if task not in found]
            found += _from_busy_to_idle(given, trial.rooms.nodes, left, usage)
        return found

    def due(self) -> Iterable[float]:
        trial = self.trial
        if self.conf.speaks_at(VICTIM) and SHUFFLE in trial.settings.actions:
            last = trial.shuffled.get(self.conf.name, trial.now)
            yield last + self.conf.argument("interval") - trial.now


def _from_busy_to_idle(
    given: Mapping[str, Any], nodes: Sequence[Node], tasks: Sequence[Task], usage: Usage
) -> list[Task]:
    least, most = _percents(given.get("thresholds")), _percents(given.get("targetThresholds"))
    measured = {
        node.name: dict(zip(_RESOURCES, busy, strict=True)) for node in nodes if (busy := usage.of(node))
    }
    known = [node for node in nodes if node.name in measured]
    idle = [
        node
        for node in known
        if not node.unschedulable and all(measured[node.name][name] <= least[name] for name in _RESOURCES)
    ]
    busy_nodes = [node for node in known if node not in idle and _is_above(measured[node.name], most)]
    if not idle or not busy_nodes:
        return []
    room = {
        name: sum((most[name] - measured[node.name][name]) / 100 * node.allocatable[name] for node in idle)
        for name in _RESOURCES
    }
    removed: list[Task] = []
    for node in sorted(busy_nodes, key=lambda node: -sum(measured[node.name].values())):
        load = measured[node.name]
        for task in sorted((task for task in tasks if task.node == node.name), key=_importance):
            if not _is_above(load, most) or min(room.values()) <= 0:
                break
            removed.append(task)
            for name in _RESOURCES:
                amount = task.requests.get(name, 0)
                room[name] -= amount
                load[name] -= 100 * amount / node.allocatable[name]
    return removed


def _is_above(load: Mapping[str, float], most: Mapping[str, float]) -> bool:
    return any(load[name] > most[name] for name in _RESOURCES)


def _percents(given: Mapping[str, Any] | None) -> dict[str, float]:
    """The limit of each resource; 100 percent, which is never exceeded, if it is not given."""
    return {name: float((given or {}).get(name, 100)) for name in _RESOURCES}


def _importance(task: Task) -> tuple[int, int]:
    spec = task.pod.obj["spec"]
    return spec.get("priority") or 0, _CLASSES.index(pod_resources.qos_class(spec))
