"""One cycle of the gang scheduler: a pure function from what is there to what to bind, remove and say."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from longshore.scheduler.gang import allocate, closing, enqueue, numbers, preempt
from longshore.scheduler.gang.closing import GroupReport
from longshore.scheduler.gang.model import Group, Queue
from longshore.scheduler.gang.settings import ALLOCATE, BACKFILL, ENQUEUE, PREEMPT, RECLAIM, Settings
from longshore.scheduler.gang.sharing import Sums
from longshore.scheduler.gang.trial import Bind, Evict, Session
from longshore.scheduler.single.decide import View

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
    settled: Mapping[str, Sums] = field(default_factory=dict)
    """What further gangs have that need not be looked at, by queue."""
    gate: bool = False
    """Whether it is only about groups that have no pods yet, and nothing is said of the others."""


@dataclass(frozen=True, slots=True)
class Plan:
    """What to do and say."""

    binds: tuple[Bind, ...]
    evictions: tuple[Evict, ...]
    reports: tuple[GroupReport, ...]
    events: tuple[tuple[Group, str, str, str], ...]
    allocated: Mapping[str, Mapping[str, str]]
    """What the gangs of each queue, and of those below it, have on nodes, as `status.allocated` says it.
    Empty when only the gate was open."""


def decide(cycle: Cycle) -> Plan:
    """Runs the configured actions in their order, then looks how every group stands."""
    session = Session(cycle.view, cycle.groups, cycle.queues, cycle.settings, cycle.now, cycle.settled)
    if ENQUEUE not in cycle.settings.actions:
        for group in session.groups.values():
            if group.phase in ("", "Pending"):
                group.phase = "Inqueue"
    for action in cycle.settings.actions:
        _ACTIONS[action](session)
    looked_at = [group for group in session.groups.values() if not (cycle.gate and group.tasks)]
    numbers.note(session, looked_at)
    return Plan(
        tuple(session.binds),
        tuple(session.evictions),
        tuple(closing.report(group, cycle.uid, cycle.time) for group in looked_at),
        tuple(event for event in session.events if not (cycle.gate and event[0].tasks)),
        {} if cycle.gate else closing.allocated(session),
    )
