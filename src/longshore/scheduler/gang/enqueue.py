"""The gate: which gangs may have pods at all. Keeps a cluster from filling up with pods that cannot run."""

from __future__ import annotations

from longshore.scheduler.amounts import total
from longshore.scheduler.gang.conf.plugin_table import JOB_ENQUEUED
from longshore.scheduler.gang.model.group import Group
from longshore.scheduler.gang.model.queue import Queue
from longshore.scheduler.gang.plugins.gang_plugin import PERMIT, REJECT, GangPlugin
from longshore.scheduler.gang.trying.trial import Trial

_WAITING = ("", "Pending")


def run(trial: Trial) -> None:
    """Admits gangs: by queue order, then by gang order. A refused gang does not block others."""
    tiers = trial.plugins.tiers_at(JOB_ENQUEUED)
    waiting: dict[str, list[Group]] = {}
    for group in trial.groups.values():
        if group.phase in _WAITING:
            waiting.setdefault(group.queue, []).append(group)
    # A gang that is let in has no room yet, so no place in the order changes on the way.
    for queue in sorted((trial.queues[name] for name in waiting), key=trial.queue_order):
        for group in sorted(waiting[queue.name], key=trial.group_order):
            if not _admitted(tiers, group, queue):
                continue
            group.phase = "Inqueue"
            for plugin in trial.plugins:
                plugin.let_in(group)
            if group.promise is not None:
                queue.inqueue = total((queue.inqueue, group.promise))


def _admitted(tiers: list[list[GangPlugin]], group: Group, queue: Queue) -> bool:
    """Whether no tier rejects the gang. A tier that permits it without a rejection ends the vote."""
    if group.min_resources is None:
        return True
    for tier in tiers:
        permitted = False
        for plugin in tier:
            vote = plugin.vote(group, queue)
            if vote == REJECT:
                return False
            permitted = permitted or vote == PERMIT
        if permitted:
            return True
    return True
