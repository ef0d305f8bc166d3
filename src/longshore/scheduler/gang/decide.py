"""One cycle of the gang scheduler: a pure function from what is there to what to bind, remove and say."""

from __future__ import annotations

from longshore.machinery.reasons import Reason
from longshore.scheduler.gang import allocate, closing, enqueue, gang_eviction, numbers, preempt, shuffle
from longshore.scheduler.gang.conf.plugin_table import VICTIM
from longshore.scheduler.gang.cycle import Cycle
from longshore.scheduler.gang.plan import GroupReport, Plan
from longshore.scheduler.gang.settings import (
    ALLOCATE,
    BACKFILL,
    ENQUEUE,
    GANG_PREEMPT,
    GANG_RECLAIM,
    PREEMPT,
    RECLAIM,
    SHUFFLE,
)
from longshore.scheduler.gang.trying.trial import Session

_EXTENDER_SECONDS = 1.0
"""Volcano asks an extender once in every cycle, of which it has one a second."""
_ACTIONS = {
    ENQUEUE: enqueue.run,
    ALLOCATE: allocate.run,
    BACKFILL: allocate.backfill,
    PREEMPT: preempt.run,
    RECLAIM: preempt.reclaim,
    SHUFFLE: shuffle.run,
    GANG_PREEMPT: gang_eviction.preempt_gangs,
    GANG_RECLAIM: gang_eviction.reclaim_gangs,
}


def decide(cycle: Cycle) -> Plan:
    """Runs the configured actions in their order, then looks how every group stands."""
    session = Session(cycle)
    if ENQUEUE not in cycle.settings.actions:
        for group in session.groups.values():
            if group.phase in ("", "Pending"):
                group.phase = "Inqueue"
    for action in cycle.settings.actions:
        _ACTIONS[action](session)
    looked_at = [group for group in session.groups.values() if not (cycle.gate and group.tasks)]
    numbers.note(session, looked_at)
    reports = tuple(closing.report(group, cycle.uid, cycle.time) for group in looked_at)
    questions = () if session.extender is None else tuple(session.extender.questions)
    return Plan(
        tuple(session.binds),
        tuple(session.evictions),
        reports,
        tuple(event for event in session.events if not (cycle.gate and event.group.tasks)),
        {} if cycle.gate else closing.allocated(session),
        tuple(session.ungated.values()),
        frozenset(session.shuffles),
        questions,
        session.opening() if questions else b"",
        _why(session, reports),
        _look_again(session, reports, cycle.now),
    )


def _why(session: Session, reports: tuple[GroupReport, ...]) -> tuple[Reason, ...]:
    """The reasons of the cycle, in numbers."""
    waiting = sum(bool(report.waits) for report in reports)
    bound, evicted = len(session.binds), len(session.evictions)
    counted = (
        ("PodsBound", f"binds {_many(bound, 'pod')}", {"pods": bound}),
        ("PodsEvicted", f"removes {_many(evicted, 'pod')} to make room", {"pods": evicted}),
        ("GangsWaiting", f"leaves {_many(waiting, 'gang')} waiting", {"gangs": waiting}),
    )
    return tuple(Reason(*each) for each in counted if any(each[2].values()))


def _many(count: int, noun: str) -> str:
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def _look_again(session: Session, reports: tuple[GroupReport, ...], now: float) -> float | None:
    """Until the first gang that is not let in has waited for as long as it may, one whose pods are being
    made has taken too long, the hours of a zone begin or are over, it is time to look at busy nodes, or an
    extender that refused something may think otherwise."""
    due = [
        report.group.deadline - now
        for report in reports
        if report.group.deadline is not None and report.status["phase"] == "Pending"
    ]
    due += [left for report in reports if (left := report.group.is_growing) is not None]
    if session.zones is not None and (change := session.zones.next_change()) is not None:
        due.append(change)
        if SHUFFLE in session.settings.actions and session.zones.period:
            due.append(session.zones.period)
    moves = session.settings.plugin("rescheduling", VICTIM)
    if moves is not None and SHUFFLE in session.settings.actions:
        due.append(session.shuffled.get(moves.name, now) + moves.argument("interval") - now)
    if session.extender is not None and session.extender.has_refused:
        due.append(_EXTENDER_SECONDS)
    return max(min(due), 0.0) if due else None
