"""Makes room by evicting: inside a queue by priority (preempt), between queues by their shares (reclaim).

Nothing is evicted unless the whole gang will then have room. Plugins say tier by tier which tasks may be
evicted; the first tier with a victim decides, and within it every plugin must name the victim. So if the
first tier protects gangs, a gang loses no task that it needs as long as other gangs have tasks to spare,
whatever a later tier says.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final, TypeAlias

from longshore.machinery.reasons import Reason
from longshore.scheduler.amounts import lacking
from longshore.scheduler.fitting import filters
from longshore.scheduler.fitting.filters import Context
from longshore.scheduler.fitting.verdict import Refusal
from longshore.scheduler.gang.conf import plugin_table
from longshore.scheduler.gang.model.group import Group
from longshore.scheduler.gang.model.queue import Queue
from longshore.scheduler.gang.model.task import BOUND, PENDING, PIPELINED, RELEASING, RUNNING, Task
from longshore.scheduler.gang.plan import Evict
from longshore.scheduler.gang.plugins.gang_plugin import GangPlugin, Owned, Place
from longshore.scheduler.gang.settings import PREEMPT, RECLAIM
from longshore.scheduler.gang.trying.rooms import Room
from longshore.scheduler.gang.trying.trial import Trial

_REMOVABLE = (BOUND, RUNNING)
Removed: TypeAlias = tuple[Group, Task, str]
"""A task evicted in the trial, with its group and its former status."""
_POINTS: Final = {PREEMPT: plugin_table.PREEMPTABLE, RECLAIM: plugin_table.RECLAIMABLE}
"""The point of each action."""
Concerns: TypeAlias = Callable[[Group], bool]
"""Whether pods of a gang may be evicted at all."""


class Claim:
    """A task of a gang that needs room, and the point at which plugins are called."""

    def __init__(self, trial: Trial, group: Group, task: Task, point: str) -> None:
        self.trial, self.group, self.task, self.point = trial, group, task, point
        self._tiers = trial.plugins.tiers_at(point)
        self.careful: bool = point == plugin_table.PREEMPTABLE and trial.settings.option(
            "preempt", "enableTopologyAwarePreemption"
        )
        """Whether all nodes are compared, and the one with the cheapest evictions is taken."""

    def victims(self, found: Sequence[Owned]) -> tuple[int, list[Owned]]:
        """The number of the tier that decides, and the tasks among `found` that it lets be evicted."""
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


def run(trial: Trial) -> None:
    """Starving gangs evict tasks of other gangs in their queue; then tasks evict others of their own gang."""
    for group in starving(trial):

        def rival(owner: Group, group: Group = group) -> bool:
            return owner is not group and owner.queue == group.queue

        _make_room(trial, group, rival, PREEMPT)
    for group in trial.groups.values():
        if group.phase in ("", "Pending") or group.invalid:
            continue

        def itself(owner: Group, group: Group = group) -> bool:
            return owner is group

        _make_room(trial, group, itself, PREEMPT, whole=False)


def reclaim(trial: Trial) -> None:
    """Queues that have less than they deserve evict tasks of queues that allow it."""
    for group in starving(trial):
        if trial.limits.is_used_up(trial.queues[group.queue]):
            continue

        def elsewhere(owner: Group, group: Group = group) -> bool:
            return owner.queue != group.queue and trial.queues[owner.queue].reclaimable

        _make_room(trial, group, elsewhere, RECLAIM)


def starving(trial: Trial, *, near: bool = False) -> list[Group]:
    """Gangs with room for fewer tasks than they may evict for, the most important first. Gangs with a network
    topology only if `near` is true."""
    wanted = _wanted(trial)
    return sorted(
        (
            group
            for group in trial.groups.values()
            if group.phase not in ("", "Pending")
            and not group.invalid
            and (near or group.wish is None)
            and _occupied(group) < min(wanted(group), len(group.tasks))
        ),
        key=trial.group_order,
    )


def _wanted(trial: Trial) -> Callable[[Group], int]:
    """A function that returns for how many tasks a gang may evict others."""
    hooks = [plugin.wanted for plugin in trial.plugins.at(plugin_table.JOB_STARVING)]
    return lambda group: min((wanted(group) for wanted in hooks), default=0)


def _occupied(group: Group) -> int:
    return group.ready_count + len(group.in_status(PIPELINED))


def _make_room(trial: Trial, group: Group, concerns: Concerns, action: str, *, whole: bool = True) -> None:
    """Evicts in the trial until the gang will have room; if it never will, undoes everything."""
    queue = trial.queues[group.queue]
    wanted = _wanted(trial)(group)
    removed: list[Removed] = []
    placed: list[Task] = []
    for task in [t for t in group.in_status(PENDING) if not t.gated and not t.best_effort]:
        if whole and _occupied(group) >= wanted:
            break
        if not task.pod.shape.preempts:
            continue
        if action == RECLAIM and not trial.limits.may_reclaim(queue, task):
            continue
        found = _room_for(Claim(trial, group, task, _POINTS[action]), queue, concerns)
        if found is None:
            continue
        room, victims = found
        removed += victims
        trial.pipeline(group, task, room)
        placed.append(task)
    if (group.is_pipelined if whole else placed) and placed:
        for owner, victim, _ in removed:
            trial.evictions.append(Evict(victim, owner, action))
            group.notes.append(Reason("Evicts", {"pod": "/".join(victim.pod.key), "action": action}))
        return
    for task in reversed(placed):
        trial.undo(group, task)
        task.possible = None
    for owner, victim, status in reversed(removed):
        trial.unevict(owner, victim, status)


def _room_for(claim: Claim, queue: Queue, concerns: Concerns) -> tuple[Room, list[Removed]] | None:
    """A node and the tasks evicted from it in the trial; None if no node helps.

    Nodes with victims from an earlier tier come first, so that no gang is broken if another node helps.
    """
    trial, task = claim.trial, claim.task
    context = trial.rooms.context(task)
    if isinstance(context, Refusal):
        return None
    choices = [
        (*claim.victims(_on(trial, room, concerns)), room)
        for room in trial.rooms
        if trial.rooms.admits(task, room)
    ]
    best: tuple[Place, Room, list[Removed]] | None = None
    for tier, found, room in sorted(choices, key=lambda choice: choice[0]):
        if not found:
            continue
        if claim.careful:
            done = _cleared_of_the_needless(claim, queue, room, found)
        else:
            done = _cleared(claim, queue, room, found, context)
        if done is None:
            continue
        if not claim.careful:
            return room, done
        harm = (tier, *_harm(done))
        if best is None or harm < best[0]:
            best = harm, room, done
        for owner, victim, status in reversed(done):
            trial.unevict(owner, victim, status)
    if best is None:
        return None
    for owner, victim, _ in best[2]:
        trial.evict(owner, victim)
    return best[1:]


def _cleared(
    claim: Claim, queue: Queue, room: Room, found: list[Owned], context: Context
) -> list[Removed] | None:
    """The tasks evicted from a node in the trial; None if that does not help."""
    trial, task = claim.trial, claim.task
    done: list[Removed] = []
    for owner, victim in found:
        if _fits(room, task) and trial.limits.allow(queue, task):
            break
        done.append((owner, victim, victim.status))
        trial.evict(owner, victim)
    if _fits(room, task) and trial.limits.allow(queue, task):
        tried = room.node.copy()
        for _, victim, _ in done:
            tried.remove(victim.pod)
        for leaving in [p for p in tried.pods.values() if "deletionTimestamp" in p.obj["metadata"]]:
            tried.remove(leaving)
        if filters.check(task.pod, tried, context) is None:
            return done
    for owner, victim, status in reversed(done):
        trial.unevict(owner, victim, status)
    return None


def _cleared_of_the_needless(
    claim: Claim, queue: Queue, room: Room, found: list[Owned]
) -> list[Removed] | None:
    """The tasks evicted from a node in the trial. All candidates are evicted, then put back one by one, the
    most important first, as long as the task still fits by all filters. None if the task does not fit without
    any of them."""
    trial = claim.trial
    done = [(owner, victim, victim.status) for owner, victim in found]
    for owner, victim, _ in done:
        trial.evict(owner, victim)
    helps = _suits(claim, queue, room)
    for each in reversed([*done]):
        owner, victim, status = each
        trial.unevict(owner, victim, status)
        if helps and not _suits(claim, queue, room):
            trial.evict(owner, victim)
        else:
            done.remove(each)
    return done if helps else None


def _suits(claim: Claim, queue: Queue, room: Room) -> bool:
    """Whether the task fits on a node once evicted tasks have left and pipelined ones have arrived."""
    trial, task = claim.trial, claim.task
    if not _fits(room, task) or not trial.limits.allow(queue, task):
        return False
    nodes = {each.node.name: each.node.copy() for each in trial.rooms}
    for node in nodes.values():
        for leaving in [pod for pod in node.pods.values() if "deletionTimestamp" in pod.obj["metadata"]]:
            node.remove(leaving)
    for group in trial.groups.values():
        for other in group.in_status(RELEASING, PIPELINED):
            there = nodes.get(other.node)
            if there is not None and other.status == PIPELINED:
                there.add(other.pod)
            elif there is not None and other.pod.uid in there.pods:
                there.remove(other.pod)
    context = trial.rooms.context(task, nodes.values())
    return (
        not isinstance(context, Refusal) and filters.check(task.pod, nodes[room.node.name], context) is None
    )


def _harm(done: list[Removed]) -> tuple[int, int, int]:
    """The cost of these evictions: the highest priority, the sum of priorities, the number."""
    priorities = [owner.priority for owner, _, _ in done]
    return max(priorities, default=0), sum(priorities), len(done)


def _on(trial: Trial, room: Room, concerns: Concerns) -> list[Owned]:
    """The tasks on a node that could be evicted, the least important first."""
    found = [
        (group, task)
        for group in trial.groups.values()
        if concerns(group)
        for task in group.tasks.values()
        if task.node == room.node.name and task.status in _REMOVABLE and task.preemptable
    ]
    return sorted(found, key=lambda pair: _worst_first(trial, pair))


def _worst_first(trial: Trial, pair: Owned) -> Place:
    group, task = pair
    return group.priority, not group.is_ready, -trial.share_of(group), task.priority, -task.index


def _fits(room: Room, task: Task) -> bool:
    return not lacking(task.requests, {n: room.future(n) for n in task.requests}, task.requests)
