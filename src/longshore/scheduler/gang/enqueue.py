"""The gate: which gangs may have pods at all. Keeps clusters from filling up with pods that cannot run."""

from __future__ import annotations

from longshore.machinery.reasons import Number, Reason
from longshore.scheduler import amounts
from longshore.scheduler.amounts import Amounts, lacking, rest, total
from longshore.scheduler.gang.model.group import Group
from longshore.scheduler.gang.model.queue import Queue
from longshore.scheduler.gang.plan import Event
from longshore.scheduler.gang.trying.trial import Session

_WAITING = ("", "Pending")
_MIN_FACTOR, _OVERCOMMIT_FACTOR = 1.0, 1.2


def run(session: Session) -> None:
    """Lets gangs in, one a turn: the best queue, then its best gang. One that is refused blocks nobody."""
    factor = session.settings.overcommit
    factor = factor if factor >= _MIN_FACTOR else _OVERCOMMIT_FACTOR
    idle = {
        name: int(amount * factor) - session.used.get(name, 0)
        for name, amount in session.total.items()
        if name != amounts.PODS
    }
    reserved = session.reserved
    waiting: dict[str, list[Group]] = {}
    for group in session.groups.values():
        if group.phase in _WAITING:
            waiting.setdefault(group.queue, []).append(group)
    # Who is let in has no room yet, so nobody's place in the order changes on the way.
    for queue in sorted((session.queues[name] for name in waiting), key=session.queue_order):
        for group in sorted(waiting[queue.name], key=session.group_order):
            if not _admits(session, group, queue, reserved, idle):
                continue
            group.phase = "Inqueue"
            if group.min_resources is not None:
                reserved = total((reserved, group.min_resources))
                queue.inqueue = total((queue.inqueue, group.min_resources))


def _admits(session: Session, group: Group, queue: Queue, reserved: Amounts, idle: Amounts) -> bool:
    wanted = group.min_resources
    if wanted is None:
        return True
    if group.deadline is not None and session.now > group.deadline:
        waited = session.now - group.deadline
        words = "let in because it waited longer than its sla-waiting-time"
        group.notes.append(Reason("WaitedTooLong", words, {"seconds": round(waited, 3)}))
        return True
    short = lacking(total((reserved, wanted)), idle, wanted)
    if short:
        names = ", ".join(f"overused {name}" for name in short)
        _refuse(session, group, f"resource in cluster is overused: {names}")
        group.notes += (_cluster_is_short(session, reserved, name) for name in short)
        return False
    if not queue.open:
        group.notes.append(Reason("QueueClosed", f"queue {queue.name} is not open"))
        return False
    have = rest(total((queue.allocated, queue.inqueue)), queue.elastic)
    short = lacking(total((wanted, have)), queue.limit, wanted)
    if short:
        names = ", ".join(f"insufficient {name}" for name in short)
        _refuse(session, group, f"queue resource quota insufficient: {names}")
        group.notes += (_queue_is_short(queue, have, name) for name in short)
        return False
    return True


def _cluster_is_short(session: Session, reserved: Amounts, name: str) -> Reason:
    factor = session.settings.overcommit
    all_, used, promised = (
        amounts.bare(name, of.get(name, 0)) for of in (session.total, session.used, reserved)
    )
    words = (
        f"of the cluster's {all_} {name} (times {factor:g}) {used} are used and {promised} promised to other "
        "gangs"
    )
    numbers: dict[str, Number] = {"total": all_, "factor": factor, "used": used, "promised": promised}
    return Reason("ClusterOverused", words, numbers)


def _queue_is_short(queue: Queue, have: Amounts, name: str) -> Reason:
    limit, used = amounts.bare(name, queue.limit.get(name, 0)), amounts.bare(name, have.get(name, 0))
    words = f"of the {limit} {name} that queue {queue.name} may have, {used} are used or promised"
    return Reason("QueueOverused", words, {"limit": limit, "used": used})


def _refuse(session: Session, group: Group, message: str) -> None:
    session.events.append(Event(group, "Normal", "Unschedulable", message))
