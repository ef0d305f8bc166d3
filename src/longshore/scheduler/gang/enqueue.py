"""The gate: which gangs may have pods at all. Keeps clusters from filling up with pods that cannot run."""

from __future__ import annotations

from longshore.scheduler import amounts
from longshore.scheduler.amounts import Amounts
from longshore.scheduler.gang.model import Group, Queue, lacking, rest, total
from longshore.scheduler.gang.trial import Session

_WAITING = ("", "Pending")
_LEAST_FACTOR, _FACTOR = 1.0, 1.2


def run(session: Session) -> None:
    """Lets gangs in, one a turn: the best queue, then its best gang. One that is refused blocks nobody."""
    factor = session.settings.overcommit
    factor = factor if factor >= _LEAST_FACTOR else _FACTOR
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
        group.notes.append("let in because it waited longer than its sla-waiting-time")
        return True
    short = lacking(total((reserved, wanted)), idle, wanted)
    if short:
        names = ", ".join(f"overused {name}" for name in short)
        _refuse(session, group, f"resource in cluster is overused: {names}")
        group.notes += (
            f"of the cluster's {amounts.words(name, session.total.get(name, 0))} "
            f"(times {session.settings.overcommit:g}) "
            f"{amounts.bare(name, session.used.get(name, 0))} are used and "
            f"{amounts.bare(name, reserved.get(name, 0))} promised to other gangs"
            for name in short
        )
        return False
    if not queue.open:
        group.notes.append(f"queue {queue.name} is not open")
        return False
    have = rest(total((queue.allocated, queue.inqueue)), queue.elastic)
    short = lacking(total((wanted, have)), queue.limit, wanted)
    if short:
        names = ", ".join(f"insufficient {name}" for name in short)
        _refuse(session, group, f"queue resource quota insufficient: {names}")
        group.notes += (
            f"of the {amounts.words(name, queue.limit.get(name, 0))} that queue {queue.name} may have, "
            f"{amounts.bare(name, have.get(name, 0))} are used or promised"
            for name in short
        )
        return False
    return True


def _refuse(session: Session, group: Group, message: str) -> None:
    session.events.append((group, "Normal", "Unschedulable", message))
