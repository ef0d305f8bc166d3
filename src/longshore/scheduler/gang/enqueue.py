"""The gate: which gangs may have pods at all. Keeps clusters from filling up with pods that cannot run."""

from __future__ import annotations

from collections.abc import Callable

from longshore.machinery.reasons import Number, Reason
from longshore.scheduler import amounts
from longshore.scheduler.amounts import Amounts, lacking, rest, total
from longshore.scheduler.gang.conf import plugin_table
from longshore.scheduler.gang.model.group import Group
from longshore.scheduler.gang.model.queue import Queue
from longshore.scheduler.gang.plan import Event
from longshore.scheduler.gang.rules.extender import ABSTAIN, PERMIT, REJECT
from longshore.scheduler.gang.trying.trial import Session

_WAITING = ("", "Pending")
_MIN_FACTOR, _OVERCOMMIT_FACTOR = 1.0, 1.2


def run(session: Session) -> None:
    """Lets gangs in, one a turn: the best queue, then its best gang. One that is refused blocks nobody."""
    gate = _Gate(session)
    waiting: dict[str, list[Group]] = {}
    for group in session.groups.values():
        if group.phase in _WAITING:
            waiting.setdefault(group.queue, []).append(group)
    # Who is let in has no room yet, so nobody's place in the order changes on the way.
    for queue in sorted((session.queues[name] for name in waiting), key=session.queue_order):
        for group in sorted(waiting[queue.name], key=session.group_order):
            if not gate.admits(group, queue):
                continue
            group.phase = "Inqueue"
            session.quotas.promise(group.obj)
            promised = group.promise
            if promised is not None:
                gate.reserved = total((gate.reserved, promised))
                queue.inqueue = total((queue.inqueue, promised))


class _Gate:
    """Who votes on gangs, tier by tier, and the amounts promised so far."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._tiers = session.settings.tiers_at(plugin_table.JOB_ENQUEUED)
        self._votes: dict[str, Callable[[Group, Queue], int]] = {
            "overcommit": self._overcommit,
            "proportion": self._queue,
            "capacity": self._queue,
            "sla": self._sla,
            "resourcequota": self._quota,
            "extender": self._extender,
        }
        self.reserved = session.reserved
        overcommit = session.settings.plugin("overcommit")
        factor = overcommit.argument("overcommit-factor") if overcommit is not None else _OVERCOMMIT_FACTOR
        self._factor = factor if factor >= _MIN_FACTOR else _OVERCOMMIT_FACTOR
        self._idle = {
            name: int(amount * self._factor) - session.used.get(name, 0)
            for name, amount in session.total.items()
            if name != amounts.PODS
        }

    def admits(self, group: Group, queue: Queue) -> bool:
        """No tier rejects the gang; one that permits it without a rejection ends the vote."""
        if group.min_resources is None:
            return True
        for tier in self._tiers:
            permitted = False
            for plugin in tier:
                vote = self._votes[plugin.name](group, queue)
                if vote == REJECT:
                    return False
                permitted = permitted or vote == PERMIT
            if permitted:
                return True
        return True

    def _sla(self, group: Group, queue: Queue) -> int:
        if not self._session.is_overdue(group):
            return ABSTAIN
        assert group.deadline is not None  # who has none is never overdue
        waited = self._session.now - group.deadline
        words = "let in because it waited longer than its sla-waiting-time"
        group.notes.append(Reason("WaitedTooLong", words, {"seconds": round(waited, 3)}))
        return PERMIT

    def _extender(self, group: Group, queue: Queue) -> int:
        extender = self._session.extender
        assert extender is not None  # which votes
        vote = extender.vote(group)
        if vote == REJECT:
            group.notes.append(Reason("ExtenderRefused", "the extender does not let it in"))
        return vote

    def _quota(self, group: Group, queue: Queue) -> int:
        short = self._session.quotas.lacking(group.obj)
        if not short:
            return PERMIT
        names = ", ".join(f"insufficient {name}" for name in short)
        _refuse(self._session, group, f"resource quota insufficient: {names}")
        group.notes.append(
            Reason("QuotaUsedUp", f"quotas of namespace {group.key[0]} have too little: {names}")
        )
        return REJECT

    def _overcommit(self, group: Group, queue: Queue) -> int:
        wanted = group.min_resources or {}
        short = lacking(total((self.reserved, wanted)), self._idle, wanted)
        if not short:
            return PERMIT
        names = ", ".join(f"overused {name}" for name in short)
        _refuse(self._session, group, f"resource in cluster is overused: {names}")
        group.notes += (_cluster_is_short(self._session, self._factor, self.reserved, name) for name in short)
        return REJECT

    def _queue(self, group: Group, queue: Queue) -> int:
        if not queue.open:
            group.notes.append(Reason("QueueClosed", f"queue {queue.name} is not open"))
            return REJECT
        wanted = group.min_resources or {}
        have = rest(total((queue.allocated, queue.inqueue)), queue.elastic)
        short = lacking(total((wanted, have)), queue.limit, wanted)
        short = short or self._branch_lacks(queue, wanted)
        if not short:
            return PERMIT
        names = ", ".join(f"insufficient {name}" for name in short)
        _refuse(self._session, group, f"queue resource quota insufficient: {names}")
        group.notes += (_queue_is_short(queue, have, name) for name in short)
        return REJECT

    def _branch_lacks(self, queue: Queue, wanted: Amounts) -> list[str]:
        """The resources of which a queue above has too little left for all below it."""
        tree = self._session.limits.tree
        for above in tree.path(queue)[:-1] if tree is not None else ():
            limited = [name for name in wanted if name in above.capability]
            promised = tree.promised(above) if tree is not None else {}
            if short := lacking(total((promised, wanted)), above.capability, limited):
                return short
        return []


def _cluster_is_short(session: Session, factor: float, reserved: Amounts, name: str) -> Reason:
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
