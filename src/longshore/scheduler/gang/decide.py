"""One cycle of the gang scheduler: a pure function from what is there to what to bind, remove and say."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from longshore.scheduler.decide import View
from longshore.scheduler.gang import allocate, closing, enqueue, numbers, preempt
from longshore.scheduler.gang.closing import GroupReport
from longshore.scheduler.gang.model import Group, Queue
from longshore.scheduler.gang.session import Bind, Evict, Session
from longshore.scheduler.gang.settings import ALLOCATE, BACKFILL, ENQUEUE, PREEMPT, RECLAIM, Settings

_ACTIONS = {
    ENQUEUE: enqueue.run,
    ALLOCATE: allocate.run,
    BACKFILL: allocate.backfill,
    PREEMPT: preempt.run,
    RECLAIM: preempt.reclaim,
}


@dataclass(frozen=True, slots=True)
class Cycle:
    """What is seen at the beginning."""

    view: View
    groups: Iterable[Group]
    queues: Mapping[str, Queue]
    settings: Settings
    uid: str
    """Names the cycle in conditions."""
    now: float
    time: str
    """The same moment, as objects write it."""


@dataclass(frozen=True, slots=True)
class Plan:
    """What to do and say."""

    binds: tuple[Bind, ...]
    evictions: tuple[Evict, ...]
    reports: tuple[GroupReport, ...]
    events: tuple[tuple[Group, str, str, str], ...]
    allocated: Mapping[str, Mapping[str, str]]
    """What the gangs of each queue, and of those below it, have on nodes, as `status.allocated` says it."""


def decide(cycle: Cycle) -> Plan:
    """Runs the configured actions in their order, then looks how every group stands."""
    session = Session(cycle.view, cycle.groups, cycle.queues, cycle.settings, cycle.now)
    if ENQUEUE not in cycle.settings.actions:
        for group in session.groups.values():
            if group.phase in ("", "Pending"):
                group.phase = "Inqueue"
    for action in cycle.settings.actions:
        _ACTIONS[action](session)
    numbers.note(session)
    reports = tuple(closing.report(group, cycle.uid, cycle.time) for group in session.groups.values())
    return Plan(
        tuple(session.binds),
        tuple(session.evictions),
        reports,
        tuple(session.events),
        closing.allocated(session),
    )
