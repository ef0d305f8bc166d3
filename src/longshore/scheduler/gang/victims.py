"""Which tasks may be evicted for which: plugins answer tier by tier; the first tier with a victim decides.

Within a tier every plugin must name the victim. So if the first tier protects gangs, a task that a gang needs
is not evicted as long as other gangs have tasks to spare, whatever a later tier says.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from longshore.scheduler.gang.conf import plugin_table
from longshore.scheduler.gang.model.group import Group
from longshore.scheduler.gang.model.task import Task
from longshore.scheduler.gang.plugins.gang_plugin import GangPlugin, Owned
from longshore.scheduler.gang.trying.trial import Session


class Claim:
    """A task of a gang that needs room, and the point at which plugins are called."""

    def __init__(self, session: Session, group: Group, task: Task, point: str) -> None:
        self.session, self.group, self.task, self.point = session, group, task, point
        self._tiers = session.plugins.tiers_at(point)
        self.careful: bool = point == plugin_table.PREEMPTABLE and session.settings.option(
            "preempt", "enableTopologyAwarePreemption"
        )
        """Whether all nodes are compared, and the one with the cheapest evictions is taken."""

    def victims(self, found: Sequence[Owned]) -> tuple[int, list[Owned]]:
        """The number of the tier that decides, and the tasks among `found` that may be evicted."""
        for number, tier in enumerate(self._tiers):
            named = self._named(tier, found)
            if named:
                return number, named
        return len(self._tiers), []

    def _named(self, tier: Sequence[GangPlugin], found: Sequence[Owned]) -> list[Owned]:
        kept: list[Owned] | None = None
        for plugin in tier:
            named = plugin.victims(self, found)
            uids = {victim.pod.uid for _, victim in named}
            kept = [each for each in (found if kept is None else kept) if each[1].pod.uid in uids]
            if not kept:
                return []
        return kept or []


POINTS: Final = {"preempt": plugin_table.PREEMPTABLE, "reclaim": plugin_table.RECLAIMABLE}
"""The point of each action."""
