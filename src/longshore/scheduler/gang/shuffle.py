"""Removes tasks for their own sake: those that plugins name, whether anybody needs their room or not.

`tdm` names tasks on nodes whose hours are over, `rescheduling` those on busy nodes; `pdb` keeps disruption
budgets.
"""

from __future__ import annotations

from collections.abc import Iterable

from longshore.machinery.reasons import Reason
from longshore.scheduler.gang import victims
from longshore.scheduler.gang.conf.plugin_table import VICTIM
from longshore.scheduler.gang.model.task import RUNNING, Task
from longshore.scheduler.gang.plan import Evict
from longshore.scheduler.gang.rules import rescheduling, revocable_zones
from longshore.scheduler.gang.settings import SHUFFLE
from longshore.scheduler.gang.trying.trial import Session
from longshore.scheduler.single import preemption


def run(session: Session) -> None:
    """For each plugin at most once in the period that it is told."""
    _remove(session, "tdm", _overstaying(session), "the hours of its node are over")
    _remove(session, "rescheduling", _on_busy_nodes(session), "its node is busy and others are not")


def _overstaying(session: Session) -> list[Task]:
    zones = session.zones
    if zones is None or session.settings.plugin("tdm", VICTIM) is None:
        return []
    if session.now < session.shuffled.get("tdm", 0.0) + zones.period:
        return []
    nodes = {node.name: node for node in session.rooms.nodes}
    found: list[Task] = []
    for group in session.groups.values():
        over = [
            task
            for task in group.in_status(RUNNING)
            if task.node in nodes and zones.overstays(task, nodes[task.node])
        ]
        found += over[: revocable_zones.budget(group)]
    return found


def _on_busy_nodes(session: Session) -> list[Task]:
    plugin = session.settings.plugin("rescheduling", VICTIM)
    if plugin is None or session.now < session.shuffled.get(plugin.name, 0.0) + plugin.argument("interval"):
        return []
    running = [task for group in session.groups.values() for task in group.in_status(RUNNING)]
    harmless = [task for task in running if victims.is_harmless(task)]
    return rescheduling.moving(plugin, session.rooms.nodes, harmless, session.usage)


def _remove(session: Session, plugin: str, tasks: Iterable[Task], why: str) -> None:
    if session.settings.plugin("pdb", VICTIM) is not None:
        _, kept = preemption.by_budget([task.pod for task in tasks], [*session.budgets])
        allowed = {pod.uid for pod in kept}
        tasks = [task for task in tasks if task.pod.uid in allowed]
    for task in tasks:
        group = task.group
        session.shuffles.add(plugin)
        session.evict(group, task)
        session.evictions.append(Evict(task, group, SHUFFLE))
        group.notes.append(Reason("Evicts", f"removes {'/'.join(task.pod.key)}: {why} ({SHUFFLE})"))
