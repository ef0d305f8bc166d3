"""Room by removing others: inside a queue by priority (preempt), between queues by their shares (reclaim).

Nothing is removed unless the whole gang will have room then. Who may be removed, `victims.py` says.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from longshore.machinery.reasons import Reason
from longshore.scheduler.amounts import lacking
from longshore.scheduler.fitting import filters
from longshore.scheduler.fitting.filters import Context
from longshore.scheduler.fitting.verdict import Refusal
from longshore.scheduler.gang.conf import plugin_table
from longshore.scheduler.gang.model.group import Group
from longshore.scheduler.gang.model.queue import Queue
from longshore.scheduler.gang.model.task import BOUND, PENDING, PIPELINED, RUNNING, Task
from longshore.scheduler.gang.plan import Evict
from longshore.scheduler.gang.settings import PREEMPT, RECLAIM
from longshore.scheduler.gang.trying.rooms import Room
from longshore.scheduler.gang.trying.trial import Place, Session
from longshore.scheduler.gang.victims import POINTS, Claim, Owned

_REMOVABLE = (BOUND, RUNNING)
Removed: TypeAlias = tuple[Group, Task, str]
"""A task that is removed in thought, of its group, and the status it had."""
Concerns: TypeAlias = Callable[[Group], bool]
"""Whether pods of a gang could make way at all."""


def run(session: Session) -> None:
    """Gangs that starve take from other gangs of their queue, then tasks from their own gang."""
    for group in starving(session):

        def rival(owner: Group, group: Group = group) -> bool:
            return owner is not group and owner.queue == group.queue

        _make_room(session, group, rival, PREEMPT)
    for group in session.groups.values():
        if group.phase in ("", "Pending") or group.invalid:
            continue

        def itself(owner: Group, group: Group = group) -> bool:
            return owner is group

        _make_room(session, group, itself, PREEMPT, whole=False)


def reclaim(session: Session) -> None:
    """Queues that have less than they deserve take from those that allow it."""
    for group in starving(session):
        if session.limits.is_used_up(session.queues[group.queue]):
            continue

        def elsewhere(owner: Group, group: Group = group) -> bool:
            return owner.queue != group.queue and session.queues[owner.queue].reclaimable

        _make_room(session, group, elsewhere, RECLAIM)


def starving(session: Session, *, near: bool = False) -> list[Group]:
    """Gangs that miss tasks, for their minimum if that is what `gang` looks at, the most important first.
    Those that want to be near each other only where `near` says that this is looked after."""
    wanted = _wanted(session)
    return sorted(
        (
            group
            for group in session.groups.values()
            if group.phase not in ("", "Pending")
            and not group.invalid
            and (near or group.wish is None)
            and _occupied(group) < min(wanted(group), len(group.tasks))
        ),
        key=session.group_order,
    )


def _wanted(session: Session) -> Callable[[Group], int]:
    """How many tasks a gang may remove others for."""
    settings = session.settings
    if settings.plugin("gang", plugin_table.JOB_STARVING) is not None:
        return lambda group: group.min_member
    if settings.plugin("priority", plugin_table.JOB_STARVING) is not None:
        return lambda group: len(group.tasks)
    return lambda group: 0


def _occupied(group: Group) -> int:
    return group.ready_count + len(group.in_status(PIPELINED))


def _make_room(
    session: Session, group: Group, concerns: Concerns, action: str, *, whole: bool = True
) -> None:
    """Removes in thought until the gang will have room; if it never will, nothing happened."""
    queue = session.queues[group.queue]
    wanted = _wanted(session)(group)
    removed: list[Removed] = []
    placed: list[Task] = []
    for task in [t for t in group.in_status(PENDING) if not t.gated and not t.best_effort]:
        if whole and _occupied(group) >= wanted:
            break
        if not task.pod.shape.preempts:
            continue
        if action == RECLAIM and not session.limits.may_reclaim(queue, task):
            continue
        found = _room_for(Claim(session, group, task, POINTS[action]), queue, concerns)
        if found is None:
            continue
        room, victims = found
        removed += victims
        session.pipeline(group, task, room)
        placed.append(task)
    if (group.is_pipelined if whole else placed) and placed:
        for owner, victim, _ in removed:
            session.evictions.append(Evict(victim, owner, action))
            words = f"removes {'/'.join(victim.pod.key)} to make room ({action})"
            group.notes.append(Reason("Evicts", words))
        return
    for task in reversed(placed):
        session.undo(group, task)
        task.possible = None
    for owner, victim, status in reversed(removed):
        session.unevict(owner, victim, status)


def _room_for(claim: Claim, queue: Queue, concerns: Concerns) -> tuple[Room, list[Removed]] | None:
    """A node and whom to remove from it, removed already in thought; None if no node helps.

    Nodes whose pods an earlier tier names come first: no gang is broken for want of a look at the next node.
    """
    session, task = claim.session, claim.task
    context = session.rooms.context(task)
    if isinstance(context, Refusal):
        return None
    choices = [
        (*claim.victims(_on(session, room, concerns)), room)
        for room in session.rooms
        if session.rooms.admits(task, room)
    ]
    best: tuple[Place, Room, list[Removed]] | None = None
    for tier, found, room in sorted(choices, key=lambda choice: choice[0]):
        done = _cleared(claim, queue, room, found, context) if found else None
        if done is None:
            continue
        if not claim.careful:
            return room, done
        harm = (tier, *_harm(done))
        if best is None or harm < best[0]:
            best = harm, room, done
        for owner, victim, status in reversed(done):
            session.unevict(owner, victim, status)
    if best is None:
        return None
    for owner, victim, _ in best[2]:
        session.evict(owner, victim)
    return best[1:]


def _cleared(
    claim: Claim, queue: Queue, room: Room, found: list[Owned], context: Context
) -> list[Removed] | None:
    """Whom to remove from a node, removed already in thought; None if that does not help."""
    session, task = claim.session, claim.task
    done: list[Removed] = []
    for owner, victim in found:
        if _fits(room, task) and session.limits.allow(queue, task):
            break
        done.append((owner, victim, victim.status))
        session.evict(owner, victim)
    if _fits(room, task) and session.limits.allow(queue, task):
        tried = room.node.copy()
        for _, victim, _ in done:
            tried.remove(victim.pod)
        for leaving in [p for p in tried.pods.values() if "deletionTimestamp" in p.obj["metadata"]]:
            tried.remove(leaving)
        if filters.check(task.pod, tried, context) is None:
            return done
    for owner, victim, status in reversed(done):
        session.unevict(owner, victim, status)
    return None


def _harm(done: list[Removed]) -> tuple[int, int, int]:
    """How much it hurts to remove these: the most important, all together, how many."""
    priorities = [owner.priority for owner, _, _ in done]
    return max(priorities, default=0), sum(priorities), len(done)


def _on(session: Session, room: Room, concerns: Concerns) -> list[Owned]:
    """The tasks on a node that could make way, the least important first."""
    found = [
        (group, task)
        for group in session.groups.values()
        if concerns(group)
        for task in group.tasks.values()
        if task.node == room.node.name and task.status in _REMOVABLE and task.preemptable
    ]
    return sorted(found, key=lambda pair: _worst_first(session, pair))


def _worst_first(session: Session, pair: Owned) -> Place:
    group, task = pair
    return group.priority, not group.is_ready, -session.share_of(group), task.priority, -task.index


def _fits(room: Room, task: Task) -> bool:
    return not lacking(task.requests, {n: room.future(n) for n in task.requests}, task.requests)
