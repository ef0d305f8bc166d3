"""One cycle of the gang scheduler: a pure function from a view to bindings, evictions and reports."""

from __future__ import annotations

from collections.abc import Sequence

from longshore.machinery.reasons import Reason
from longshore.scheduler.gang import (
    allocate,
    closing,
    enqueue,
    gang_eviction,
    numbers,
    preempt_and_reclaim,
    settings,
)
from longshore.scheduler.gang.conf.plugin_table import VICTIM
from longshore.scheduler.gang.cycle import Cycle
from longshore.scheduler.gang.model.task import Task
from longshore.scheduler.gang.plan import Evict, GangPlan, GroupReport
from longshore.scheduler.gang.trying.trial import Trial


def _shuffle(trial: Trial) -> None:
    """Evicts the tasks that plugins name, once in a period of each plugin at most, even if nothing needs the
    room: `tdm` names tasks on nodes whose hours are over, `rescheduling` tasks on busy nodes; `pdb` protects
    disruption budgets."""
    plugins = trial.plugins.at(VICTIM)
    for plugin in plugins:
        tasks: Sequence[Task] = plugin.removals()
        for each in plugins:
            tasks = each.removable(tasks)
        for task in tasks:
            group, numbers = task.group, {"pod": "/".join(task.pod.key), "action": settings.SHUFFLE}
            trial.shuffles.add(plugin.conf.name)
            trial.evict(group, task)
            trial.evictions.append(Evict(task, group, settings.SHUFFLE))
            group.notes.append(Reason(plugin.removal_code, numbers))


_ACTIONS = {
    settings.ENQUEUE: enqueue.run,
    settings.ALLOCATE: allocate.run,
    settings.BACKFILL: allocate.backfill,
    settings.PREEMPT: preempt_and_reclaim.run,
    settings.RECLAIM: preempt_and_reclaim.reclaim,
    settings.SHUFFLE: _shuffle,
    settings.GANG_PREEMPT: gang_eviction.preempt_gangs,
    settings.GANG_RECLAIM: gang_eviction.reclaim_gangs,
}


def decide(cycle: Cycle) -> GangPlan:
    """Runs the configured actions in their order, then reports on every group."""
    trial = Trial(cycle)
    if settings.ENQUEUE not in cycle.settings.actions:
        for group in trial.groups.values():
            if group.phase in ("", "Pending"):
                group.phase = "Inqueue"
    for action in cycle.settings.actions:
        _ACTIONS[action](trial)
    looked_at = [group for group in trial.groups.values() if not (cycle.gate and group.tasks)]
    numbers.note(trial, looked_at)
    reports = tuple(closing.report(group, cycle.uid, cycle.time) for group in looked_at)
    return GangPlan(
        tuple(trial.binds),
        tuple(trial.evictions),
        reports,
        tuple(refusal for refusal in trial.refusals if not (cycle.gate and refusal.group.tasks)),
        {} if cycle.gate else closing.allocated(trial),
        tuple(trial.ungated.values()),
        frozenset(trial.shuffles),
        _why(trial, reports),
        _look_again(trial, reports, cycle.now),
    )


def _why(trial: Trial, reports: tuple[GroupReport, ...]) -> tuple[Reason, ...]:
    """The reasons of the cycle, in numbers."""
    waiting = sum(bool(report.waits) for report in reports)
    bound, evicted = len(trial.binds), len(trial.evictions)
    counted = (
        Reason("PodsBound", {"pods": bound}),
        Reason("PodsEvicted", {"pods": evicted}),
        Reason("GangsWaiting", {"gangs": waiting}),
    )
    return tuple(reason for reason in counted if any(reason.numbers.values()))


def _look_again(trial: Trial, reports: tuple[GroupReport, ...], now: float) -> float | None:
    """Seconds until a waiting gang reaches its deadline, a gang whose pods are still being created has taken
    too long, or a plugin wants a cycle."""
    due = [
        report.group.deadline - now
        for report in reports
        if report.group.deadline is not None and report.status["phase"] == "Pending"
    ]
    due += [left for report in reports if (left := report.group.is_growing) is not None]
    due += [left for plugin in trial.plugins for left in plugin.due()]
    return max(min(due), 0.0) if due else None
