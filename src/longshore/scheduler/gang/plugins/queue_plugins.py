"""Plugins about amounts: sharing between queues (`proportion`, `capacity`), and admission of gangs
(`overcommit`, `resourcequota`)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from decimal import Decimal
from functools import cached_property
from typing import TYPE_CHECKING, Final

from longshore.api import quantity
from longshore.api.types import Obj
from longshore.machinery import catalogue
from longshore.machinery.reasons import Number, Reason
from longshore.scheduler import amounts
from longshore.scheduler.amounts import Amounts, lacking, rest, total
from longshore.scheduler.gang.model.group import Group
from longshore.scheduler.gang.model.queue import Queue
from longshore.scheduler.gang.plan import Refusal
from longshore.scheduler.gang.plugins.gang_plugin import PERMIT, REJECT, GangPlugin, Owned, Place
from longshore.scheduler.gang.settings import Plugin
from longshore.scheduler.gang.trying import sharing

if TYPE_CHECKING:
    from longshore.scheduler.gang.preempt_and_reclaim import Claim
    from longshore.scheduler.gang.trying.trial import Trial

_MIN_FACTOR: Final = 1.0
_OVERCOMMIT_FACTOR: Final = 1.2


class SharedQueues(GangPlugin):
    """`proportion` and `capacity`: queues get their shares, and yield what they have beyond them."""

    def queue_order(self) -> Callable[[Queue], Place]:
        return self._by_share if self.trial.limits.tree is None else self._by_branch

    def _by_share(self, queue: Queue) -> Place:
        return -queue.priority, sharing.share(queue.allocated, queue.deserved)

    def _by_branch(self, queue: Queue) -> Place:
        tree = self.trial.limits.tree
        assert tree is not None  # the order of a hierarchy
        return tuple((-each.priority, tree.share(each), each.created, each.name) for each in tree.path(queue))

    def victims(self, claim: Claim, found: Sequence[Owned]) -> list[Owned]:
        """Pods of queues that have more than they deserve: as many as exceed that."""
        have: dict[str, Amounts] = {}
        named = []
        tree, queues = self.trial.limits.tree, self.trial.queues
        if tree is not None:
            mine = queues[claim.group.queue]
            taken: dict[str, Amounts] = {}
            for owner, victim in found:
                less: Amounts = taken.get(owner.queue, {})
                if tree.makes_way(queues[owner.queue], mine, claim.task.requests, victim.requests, less):
                    taken[owner.queue] = total((less, victim.requests))
                    named.append((owner, victim))
            return named
        for owner, victim in found:
            queue = queues[owner.queue]
            now = have.setdefault(queue.name, dict(queue.allocated))
            if any(now.get(name, 0) > queue.deserved.get(name, 0) for name in victim.requests):
                have[queue.name] = rest(now, victim.requests)
                named.append((owner, victim))
        return named

    def vote(self, group: Group, queue: Queue) -> int:
        if not queue.open:
            group.notes.append(Reason("QueueClosed", {"queue": queue.name}))
            return REJECT
        wanted = group.min_resources or {}
        have = rest(total((queue.allocated, queue.inqueue)), queue.elastic)
        short, limits = lacking(total((wanted, have)), queue.limit, wanted), self.trial.limits
        narrow = (queue, short) if short else limits.above_lacks(queue, wanted)
        if narrow is None:
            return PERMIT
        full, short = narrow
        names = ", ".join(f"insufficient {name}" for name in short)
        _refuse(self.trial, group, queueLacks=names)
        have = limits.branches.promised(full)
        group.notes += (_queue_is_short(full, have, name) for name in short)
        return REJECT


class Overcommit(GangPlugin):
    """`overcommit`: gangs are admitted until the cluster's resources, times a factor, are promised."""

    def __init__(self, conf: Plugin, trial: Trial) -> None:
        super().__init__(conf, trial)
        factor = conf.argument("overcommit-factor")
        self._factor = factor if factor >= _MIN_FACTOR else _OVERCOMMIT_FACTOR
        self._let_in: Amounts = {}
        """The amounts promised to gangs in this cycle."""

    @cached_property
    def _idle(self) -> Amounts:
        """The cluster's resources times the factor, minus those in use."""
        used = self.trial.used
        return {
            name: int(amount * self._factor) - used.get(name, 0) for name, amount in self.trial.shared.items()
        }

    def let_in(self, group: Group) -> None:
        if group.promise is not None:
            self._let_in = total((self._let_in, group.promise))

    def vote(self, group: Group, queue: Queue) -> int:
        wanted, promised = group.min_resources or {}, total((self.trial.reserved, self._let_in))
        short = lacking(total((promised, wanted)), self._idle, wanted)
        if not short:
            return PERMIT
        names = ", ".join(f"overused {name}" for name in short)
        _refuse(self.trial, group, clusterLacks=names)
        group.notes += (_cluster_is_short(self.trial, self._factor, promised, name) for name in short)
        return REJECT


class QuotaGate(GangPlugin):
    """`resourcequota`: a gang is admitted only if its namespace's quotas have room for its minimum.

    Without the plugin, a quota may let a gang have only some of its pods, which then wait for the others.
    """

    def __init__(self, conf: Plugin, trial: Trial) -> None:
        super().__init__(conf, trial)
        self._quotas = Quotas(trial.cycle.quotas)
        for obj in trial.cycle.awaited:
            self._quotas.promise(obj)

    def let_in(self, group: Group) -> None:
        self._quotas.promise(group.obj)

    def vote(self, group: Group, queue: Queue) -> int:
        short = self._quotas.lacking(group.obj)
        if not short:
            return PERMIT
        names = ", ".join(f"insufficient {name}" for name in short)
        _refuse(self.trial, group, quotasLack=names)
        group.notes.append(Reason("QuotaUsedUp", {"namespace": group.key[0], "lacks": names}))
        return REJECT


def _cluster_is_short(trial: Trial, factor: float, reserved: Amounts, name: str) -> Reason:
    all_, used, promised = (amounts.bare(name, of.get(name, 0)) for of in (trial.total, trial.used, reserved))
    numbers: dict[str, Number] = {"total": all_, "factor": factor, "used": used, "promised": promised}
    return Reason("ClusterOverused", {"resource": name, **numbers})


def _queue_is_short(queue: Queue, have: Amounts, name: str) -> Reason:
    limit, used = amounts.bare(name, queue.limit.get(name, 0)), amounts.bare(name, have.get(name, 0))
    return Reason("QueueOverused", {"queue": queue.name, "resource": name, "limit": limit, "used": used})


def _refuse(trial: Trial, group: Group, **lacks: str) -> None:
    trial.refusals.append(Refusal(group, catalogue.event("GangRefused", lacks)))


class Quotas:
    """The quotas of all namespaces, and the amounts promised to gangs in this cycle."""

    def __init__(self, objects: Iterable[Obj]) -> None:
        self._of: dict[str, list[Obj]] = {}
        for obj in objects:
            if not (obj.get("spec") or {}).get("scopes"):
                self._of.setdefault(obj["metadata"]["namespace"], []).append(obj)
        self._promised: dict[str, dict[str, Decimal]] = {}

    def lacking(self, group: Obj) -> list[str]:
        """The resources of which a quota has too little for the minimum of a PodGroup."""
        namespace = group["metadata"]["namespace"]
        promised = self._promised.get(namespace, {})
        short: list[str] = []
        for quota in self._of.get(namespace, ()):
            hard = (quota.get("status") or {}).get("hard") or quota["spec"].get("hard") or {}
            used = (quota.get("status") or {}).get("used") or {}
            for name, amount in _wanted(group).items():
                if name not in hard:
                    continue
                taken = _amount(used.get(name, "0")) + promised.get(name, Decimal(0))
                if taken + amount > _amount(hard[name]) and name not in short:
                    short.append(name)
        return short

    def promise(self, group: Obj) -> None:
        """Reserves the minimum of an admitted gang, so that other gangs cannot use it."""
        namespace = group["metadata"]["namespace"]
        if namespace not in self._of:
            return
        promised = self._promised.setdefault(namespace, {})
        for name, amount in _wanted(group).items():
            promised[name] = promised.get(name, Decimal(0)) + amount


def _wanted(group: Obj) -> dict[str, Decimal]:
    least = (group.get("spec") or {}).get("minResources") or {}
    return {name: _amount(amount) for name, amount in least.items()}


def _amount(text: object) -> Decimal:
    return Decimal(quantity.parse(str(text)).amount)
