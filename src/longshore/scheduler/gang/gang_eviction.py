"""Makes room for a gang by evicting spare tasks of other gangs, or whole gangs: no gang is left below its
minimum.

`gangpreempt` takes from gangs of lower priority in the same queue, `gangreclaim` from reclaimable queues that
have more than they deserve. Also works for gangs with a network topology. Victims that are not needed stay.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from longshore.machinery.reasons import Reason
from longshore.scheduler.gang import allocate, preempt_and_reclaim
from longshore.scheduler.gang.model.group import Group
from longshore.scheduler.gang.model.task import BOUND, PENDING, RUNNING, Task
from longshore.scheduler.gang.plan import Evict
from longshore.scheduler.gang.plugins.order_plugins import is_harmless
from longshore.scheduler.gang.settings import GANG_PREEMPT, GANG_RECLAIM
from longshore.scheduler.gang.trying.trial import Trial


class Bundle(NamedTuple):
    """Tasks of one gang that are removed together, and the status that each had."""

    owner: Group
    tasks: tuple[Task, ...]
    statuses: tuple[str, ...]


def preempt_gangs(trial: Trial) -> None:
    for group in preempt_and_reclaim.starving(trial, near=True):

        def weaker(owner: Group, group: Group = group) -> bool:
            return owner.queue == group.queue and owner.priority < group.priority

        _make_room(trial, group, weaker, GANG_PREEMPT)


def reclaim_gangs(trial: Trial) -> None:
    for group in preempt_and_reclaim.starving(trial, near=True):
        queue = trial.queues[group.queue]
        waiting = group.in_status(PENDING)
        if trial.limits.is_used_up(queue) or not all(
            trial.limits.may_reclaim(queue, task) for task in waiting[:1]
        ):
            continue

        def richer(owner: Group, group: Group = group) -> bool:
            queue = trial.queues[owner.queue]
            return owner.queue != group.queue and queue.reclaimable and _exceeds(trial, owner)

        _make_room(trial, group, richer, GANG_RECLAIM)


def _exceeds(trial: Trial, owner: Group) -> bool:
    queue = trial.queues[owner.queue]
    return any(queue.allocated.get(name, 0) > queue.deserved.get(name, 0) for name in owner.holding)


def _make_room(trial: Trial, group: Group, concerns: Callable[[Group], bool], action: str) -> None:
    """Removes bundles in the trial until the gang has room; if it never has, undoes everything."""
    gone: list[Bundle] = []
    for spare in (True, False):
        for owner in sorted(trial.groups.values(), key=trial.group_order, reverse=True):
            if owner is group or not concerns(owner):
                continue
            bundle = _bundle(owner, spare=spare)
            if not bundle.tasks:
                continue
            _remove(trial, bundle)
            gone.append(bundle)
            if _fits(trial, group):
                _commit(trial, group, _needed(trial, group, gone), action)
                return
    for bundle in reversed(gone):
        _put_back(trial, bundle)


def _needed(trial: Trial, group: Group, gone: Sequence[Bundle]) -> list[Bundle]:
    """The bundles whose removal the gang needs. The gang is placed when this returns."""
    kept = [*gone]
    for bundle in gone[:-1]:
        _take_back(trial, group)
        _put_back(trial, bundle)
        if _fits(trial, group):
            kept.remove(bundle)
        else:
            _remove(trial, bundle)
    if not group.is_pipelined:
        _fits(trial, group)
    return kept


def _fits(trial: Trial, group: Group) -> bool:
    """Tries to place the gang on room that victims will leave; undoes that if it is not enough."""
    group.misfits.clear()
    waiting = [task for task in group.in_status(PENDING) if not task.gated and not task.best_effort]
    allocate.attempt(trial, group, trial.queues[group.queue], waiting)
    if group.is_pipelined:
        return True
    _take_back(trial, group)
    return False


def _take_back(trial: Trial, group: Group) -> None:
    for task in reversed(group.in_status(*allocate.TRIED)):
        trial.undo(group, task)
        task.possible = None


def _commit(trial: Trial, group: Group, bundles: Sequence[Bundle], action: str) -> None:
    for bundle in bundles:
        for task in bundle.tasks:
            trial.evictions.append(Evict(task, bundle.owner, action))
            group.notes.append(Reason("Evicts", {"pod": "/".join(task.pod.key), "action": action}))


def _bundle(owner: Group, *, spare: bool) -> Bundle:
    """The spare tasks of a gang beyond its minimum, or all of them if all may be removed."""
    removable = owner.in_status(BOUND, RUNNING)
    willing = [task for task in removable if task.preemptable and is_harmless(task)]
    willing.sort(key=lambda task: (task.priority, -task.index))
    if spare:
        found = willing[: max(owner.ready_count - owner.min_member, 0)]
    else:
        found = willing if len(willing) == len(removable) else []
    return Bundle(owner, tuple(found), tuple(task.status for task in found))


def _remove(trial: Trial, bundle: Bundle) -> None:
    for task in bundle.tasks:
        trial.evict(bundle.owner, task)


def _put_back(trial: Trial, bundle: Bundle) -> None:
    for task, status in reversed([*zip(bundle.tasks, bundle.statuses, strict=True)]):
        trial.unevict(bundle.owner, task, status)
