"""The settings of a gang scheduler: its actions in a cycle, and plugins with their rules, in tiers.

Volcano's model: an action calls all plugins registered for a point (`enablePreemptable`, …), tier by tier.
`plugin_table.py` lists the points of each plugin; `scheduler_conf.py` reads settings from a file.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any, Final

import msgspec

from longshore.scheduler.gang.conf import plugin_table

ENQUEUE, ALLOCATE, BACKFILL, PREEMPT, RECLAIM = "enqueue", "allocate", "backfill", "preempt", "reclaim"
SHUFFLE, GANG_PREEMPT, GANG_RECLAIM = "shuffle", "gangpreempt", "gangreclaim"
ACTIONS: Final = (ENQUEUE, ALLOCATE, BACKFILL, PREEMPT, RECLAIM, SHUFFLE, GANG_PREEMPT, GANG_RECLAIM)
REMOVING: Final = frozenset((PREEMPT, RECLAIM, SHUFFLE, GANG_PREEMPT, GANG_RECLAIM))
"""The actions that may evict pods; with one of them, no gang is set aside as settled."""
DEFAULT_ACTIONS: Final = (ENQUEUE, ALLOCATE, BACKFILL)
"""Volcano's defaults, without eviction."""


class Plugin(msgspec.Struct, frozen=True):
    """A plugin of a tier. Its arguments are those of the table, parsed and checked."""

    name: str
    off: tuple[str, ...] = ()
    """Points of the plugin that are switched off."""
    arguments: dict[str, Any] = msgspec.field(default_factory=dict)

    def speaks_at(self, point: str) -> bool:
        return point in plugin_table.PLUGINS[self.name].points and point not in self.off

    def argument(self, name: str) -> Any:
        """The argument's value, or its default."""
        found = self.arguments.get(name)
        return plugin_table.PLUGINS[self.name].argument(name).default if found is None else found


def _tier(*plugins: Plugin | str) -> tuple[Plugin, ...]:
    return tuple(Plugin(each) if isinstance(each, str) else each for each in plugins)


Tiers = tuple[tuple[Plugin, ...], ...]
DEFAULT_TIERS: Final[Tiers] = (
    _tier("priority", Plugin("gang", ("enablePreemptable",)), "conformance"),
    _tier(
        "overcommit",
        Plugin("drf", ("enablePreemptable",)),
        "predicates",
        "proportion",
        "nodeorder",
        "binpack",
    ),
)
"""The tiers of Volcano's Helm chart."""


class Settings(msgspec.Struct, frozen=True, dict=True):
    """Volcano's scheduler configuration. Results are cached: cycles ask hundreds of times a second."""

    actions: tuple[str, ...] = DEFAULT_ACTIONS
    tiers: Tiers = DEFAULT_TIERS
    options: dict[str, dict[str, Any]] = msgspec.field(default_factory=dict)
    """Arguments of actions, by action."""

    def plugin(self, name: str, point: str = "") -> Plugin | None:
        """The plugin, if it is configured and called at `point`."""
        plugin = self._plugins.get(name)
        return plugin if plugin is not None and (not point or plugin.speaks_at(point)) else None

    @cached_property
    def _plugins(self) -> dict[str, Plugin]:
        return {plugin.name: plugin for tier in self.tiers for plugin in tier}

    @cached_property
    def _asked(self) -> dict[str, Tiers]:
        return {}

    def tiers_at(self, point: str) -> Tiers:
        """The plugins that are called at a point, by tier, without empty tiers."""
        found = self._asked.get(point)
        if found is None:
            tiers = (tuple(each for each in tier if each.speaks_at(point)) for tier in self.tiers)
            found = self._asked[point] = tuple(tier for tier in tiers if tier)
        return found

    @cached_property
    def left_out(self) -> frozenset[str]:
        """The filters that are switched off."""
        predicates = self.plugin("predicates", plugin_table.PREDICATE)
        return frozenset(
            name
            for argument, name in plugin_table.PREDICATES.items()
            if predicates is None or not predicates.argument(argument)
        )

    @cached_property
    def reads(self) -> frozenset[str]:
        """The facts that a plugin needs beside those of every cycle: `loads`, `quotas`."""
        return frozenset(plugin_table.PLUGINS[name].reads for name in self._plugins)

    @property
    def shares(self) -> Plugin | None:
        """The plugin by which queues share: `capacity` or `proportion`."""
        return self.plugin("capacity") or self.plugin("proportion")

    @property
    def removes(self) -> bool:
        return not REMOVING.isdisjoint(self.actions)

    def option(self, action: str, name: str) -> Any:
        """The argument of an action, or its default."""
        found = self.options.get(action, {}).get(name)
        return plugin_table.ACTIONS[action][name].default if found is None else found
