"""Room by removing others: inside a queue by priority (preempt), between queues by their shares (reclaim).

Nothing is removed unless the whole gang will have room then. Pods of equal priority never make way.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from longshore.machinery.reasons import Reason
from longshore.scheduler import amounts
from longshore.scheduler.amounts import lacking, rest
from longshore.scheduler.fitting import filters
from longshore.scheduler.fitting.verdict import Refusal
from longshore.scheduler.gang.model.group import Group
from longshore.scheduler.gang.model.queue import Queue
from longshore.scheduler.gang.model.task import BOUND, PENDING, PIPELINED, RUNNING, Task
from longshore.scheduler.gang.plan import Evict
from longshore.scheduler.gang.settings import PREEMPT, RECLAIM
from longshore.scheduler.gang.trying import sharing
from longshore.scheduler.gang.trying.rooms import Room
from longshore.scheduler.gang.trying.trial import Session

_CRITICAL: Final = ("system-cluster-critical", "system-node-critical")
_REMOVABLE: Final = (BOUND, RUNNING)
Owned = tuple[Group, Task]
Eligible = Callable[[Task, list[Owned]], list[Owned]]
"""From a task and those that could make way for it to those that may."""


def run(session: Session) -> None:
    """Gangs that starve take from gangs of less priority in their queue, then tasks from their own gang."""
    for group in _starving(session):

        def weaker(owner: Group, victim: Task, group: Group = group) -> bool:
            return owner is not group and owner.queue == group.queue and owner.priority < group.priority

        _make_room(session, group, _others(session, group, weaker), PREEMPT)
    for group in session.groups.values():
        if group.phase in ("", "Pending") or group.invalid:
            continue

        def own(task: Task, found: list[Owned], group: Group = group) -> list[Owned]:
            return [(g, v) for g, v in found if g is group and v.priority < task.priority and _harmless(v)]

        _make_room(session, group, own, PREEMPT, whole=False)


def reclaim(session: Session) -> None:
    """Queues that have less than they deserve take from those that have more and allow it."""
    for group in _starving(session):
        queue = session.queues[group.queue]
        if session.limits.is_used_up(queue):
            continue

        def richer(owner: Group, victim: Task, group: Group = group) -> bool:
            return owner.queue != group.queue and _exceeds(session.queues[owner.queue], victim)

        _make_room(session, group, _others(session, group, richer), RECLAIM)


def _others(session: Session, group: Group, makes_way: Callable[[Group, Task], bool]) -> Eligible:
    """The tasks of other gangs that make way for a gang, as far as every tier allows it."""

    def eligible(task: Task, found: list[Owned]) -> list[Owned]:
        return _by_tiers(
            session, group, [(owner, victim) for owner, victim in found if makes_way(owner, victim)]
        )

    return eligible


def _starving(session: Session) -> list[Group]:
    """Gangs that miss tasks for their minimum, the most important first."""
    return sorted(
        (
            group
            for group in session.groups.values()
            if group.phase not in ("", "Pending")
            and not group.invalid
            and not (group.obj.get("spec") or {}).get("networkTopology")
            and _occupied(group) < min(group.min_member, len(group.tasks))
        ),
        key=session.group_order,
    )


def _occupied(group: Group) -> int:
    return group.ready_count + len(group.in_status(PIPELINED))


def _exceeds(queue: Queue, victim: Task) -> bool:
    return queue.reclaimable and any(
        queue.allocated.get(name, 0) > queue.deserved.get(name, 0) for name in victim.requests
    )


def _by_tiers(session: Session, group: Group, found: list[Owned]) -> list[Owned]:
    settings = session.settings
    kept = [(owner, victim) for owner, victim in found if _harmless(victim)]
    if settings.gang_preemptable:
        left: dict[str, int] = {}
        spare = []
        for owner, victim in kept:
            count = left.setdefault(owner.uid, owner.ready_count)
            if count > owner.min_member:
                left[owner.uid] = count - 1
                spare.append((owner, victim))
        kept = spare
    if settings.drf_preemptable:
        mine = session.share_of(group)
        all_ = {name: amount for name, amount in session.total.items() if name != amounts.PODS}
        kept = [
            (owner, victim)
            for owner, victim in kept
            if mine <= sharing.share(rest(owner.holding, victim.requests), all_)
        ]
    return kept


def _harmless(victim: Task) -> bool:
    """Nothing that a cluster needs to live."""
    spec = victim.pod.obj["spec"]
    return victim.pod.key[0] != "kube-system" and spec.get("priorityClassName") not in _CRITICAL


def _make_room(
    session: Session, group: Group, eligible: Eligible, action: str, *, whole: bool = True
) -> None:
    """Removes in thought until the gang will have room; if it never will, nothing happened."""
    queue = session.queues[group.queue]
    removed: list[tuple[Group, Task, str]] = []
    placed: list[Task] = []
    for task in [t for t in group.in_status(PENDING) if not t.gated and not t.best_effort]:
        if whole and _occupied(group) >= group.min_member:
            break
        if not task.pod.shape.preempts:
            continue
        found = _room_for(session, group, queue, task, eligible)
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


def _room_for(
    session: Session, group: Group, queue: Queue, task: Task, eligible: Eligible
) -> tuple[Room, list[tuple[Group, Task, str]]] | None:
    """A node and whom to remove from it, removed already in thought; None if no node helps."""
    context = session.rooms.context(task)
    if isinstance(context, Refusal):
        return None
    for room in session.rooms:
        found = eligible(task, _on(session, room))
        if not found:
            continue
        done: list[tuple[Group, Task, str]] = []
        for owner, victim in sorted(found, key=lambda pair: _worst_first(session, pair)):
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
                return room, done
        for owner, victim, status in reversed(done):
            session.unevict(owner, victim, status)
    return None


def _on(session: Session, room: Room) -> list[Owned]:
    return [
        (group, task)
        for group in session.groups.values()
        for task in group.tasks.values()
        if task.node == room.node.name and task.status in _REMOVABLE and task.preemptable
    ]


def _worst_first(session: Session, pair: Owned) -> tuple[int, bool, float, int, int]:
    group, task = pair
    return group.priority, not group.is_ready, -session.share_of(group), task.priority, -task.index


def _fits(room: Room, task: Task) -> bool:
    return not lacking(task.requests, {n: room.future(n) for n in task.requests}, task.requests)
