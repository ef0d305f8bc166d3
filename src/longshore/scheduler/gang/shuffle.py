"""Evicts the tasks that plugins name, whether or not their room is needed.

`tdm` names tasks on nodes whose hours are over, `rescheduling` tasks on busy nodes; `pdb` protects disruption
budgets.
"""

from __future__ import annotations

from collections.abc import Sequence

from longshore.machinery.reasons import Reason
from longshore.scheduler.gang.conf.plugin_table import VICTIM
from longshore.scheduler.gang.model.task import Task
from longshore.scheduler.gang.plan import Evict
from longshore.scheduler.gang.settings import SHUFFLE
from longshore.scheduler.gang.trying.trial import Trial


def run(trial: Trial) -> None:
    """Evicts the tasks of each plugin, at most once in its period."""
    plugins = trial.plugins.at(VICTIM)
    for plugin in plugins:
        tasks: Sequence[Task] = plugin.removals()
        for each in plugins:
            tasks = each.removable(tasks)
        for task in tasks:
            group, why = task.group, plugin.removal_reason
            trial.shuffles.add(plugin.conf.name)
            trial.evict(group, task)
            trial.evictions.append(Evict(task, group, SHUFFLE))
            evicted = {"pod": "/".join(task.pod.key), "why": why, "action": SHUFFLE}
            group.notes.append(Reason("Evicts", evicted))
