"""The plugins of a cycle: an object for each plugin that the settings name, by tier and point."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from longshore.scheduler.gang.plugins import node_plugins, order_plugins, queue_plugins
from longshore.scheduler.gang.plugins.gang_plugin import GangPlugin
from longshore.scheduler.gang.plugins.rescheduling import Rescheduling
from longshore.scheduler.gang.plugins.revocable_zones import RevocableZones

if TYPE_CHECKING:
    from longshore.scheduler.gang.trying.trial import Trial

_CLASSES: Final[dict[str, type[GangPlugin]]] = {
    "priority": order_plugins.Priority,
    "gang": order_plugins.AllOrNothing,
    "conformance": order_plugins.Conformance,
    "drf": order_plugins.DominantShare,
    "sla": order_plugins.WaitingTime,
    "pdb": order_plugins.DisruptionBudgets,
    "cdp": order_plugins.Cooldown,
    "proportion": queue_plugins.SharedQueues,
    "capacity": queue_plugins.SharedQueues,
    "overcommit": queue_plugins.Overcommit,
    "resourcequota": queue_plugins.QuotaGate,
    "nodegroup": node_plugins.NodeGroups,
    "tdm": RevocableZones,
    "usage": node_plugins.BusyNodes,
    "resource-strategy-fit": node_plugins.StrategyFit,
    "task-topology": node_plugins.TaskTopology,
    "rescheduling": Rescheduling,
}
"""Classes by name, in the order in which they are called where tiers do not count. Plugins that are not here
are settings of filters and scores that all schedulers share."""


class GangPlugins:
    """The plugin objects of one cycle."""

    def __init__(self, trial: Trial) -> None:
        self._settings = trial.settings
        named = {plugin.name: plugin for tier in trial.settings.tiers for plugin in tier}
        self._objects = {name: made(named[name], trial) for name, made in _CLASSES.items() if name in named}

    def __iter__(self) -> Iterator[GangPlugin]:
        return iter(self._objects.values())

    def tiers_at(self, point: str) -> list[list[GangPlugin]]:
        """The plugins that are called at a point, by tier."""
        return [[self._objects[conf.name] for conf in tier] for tier in self._settings.tiers_at(point)]

    def in_order(self, point: str) -> list[GangPlugin]:
        """The plugins that are called at a point, those of the first tier first."""
        return [plugin for tier in self.tiers_at(point) for plugin in tier]

    def at(self, point: str) -> list[GangPlugin]:
        """The plugins that are called at a point, regardless of tiers."""
        return [plugin for plugin in self if plugin.conf.speaks_at(point)]
