"""Removes tasks for their own sake: those that plugins name, whether anybody needs their room or not.

`tdm` names tasks on nodes whose hours are over, `pdb` keeps disruption budgets.
"""

from __future__ import annotations

from longshore.machinery.reasons import Reason
from longshore.scheduler.gang.conf.plugin_table import VICTIM
from longshore.scheduler.gang.model.group import Group
from longshore.scheduler.gang.model.task import RUNNING, Task
from longshore.scheduler.gang.plan import Evict
from longshore.scheduler.gang.rules import revocable_zones
from longshore.scheduler.gang.settings import SHUFFLE
from longshore.scheduler.gang.trying.trial import Session
from longshore.scheduler.single import preemption


def run(session: Session) -> None:
    """At most once in the period that `tdm` is told."""
    zones = session.zones
    if zones is None or session.settings.plugin("tdm", VICTIM) is None:
        return
    if session.now < session.shuffled + zones.period:
        return
    nodes = {node.name: node for node in session.rooms.nodes}
    victims: list[tuple[Group, Task]] = []
    for group in session.groups.values():
        over = [
            task
            for task in group.in_status(RUNNING)
            if task.node in nodes and zones.overstays(task, nodes[task.node])
        ]
        victims += [(group, task) for task in over[: revocable_zones.budget(group)]]
    if session.settings.plugin("pdb", VICTIM) is not None:
        _, kept = preemption.by_budget([task.pod for _, task in victims], [*session.budgets])
        allowed = {pod.uid for pod in kept}
        victims = [each for each in victims if each[1].pod.uid in allowed]
    for group, task in victims:
        session.shuffles = True
        session.evict(group, task)
        session.evictions.append(Evict(task, group, SHUFFLE))
        words = f"removes {'/'.join(task.pod.key)}: the hours of its node are over ({SHUFFLE})"
        group.notes.append(Reason("Evicts", words))
