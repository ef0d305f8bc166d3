"""Plugins that order gangs: `priority`, `gang`, `drf`, `sla`; and plugins that protect pods: `conformance`,
`pdb`, `cdp`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Final

from longshore.api.facts import conditions
from longshore.api.facts.pod_state import phase_of
from longshore.api.time import durations, rfc3339
from longshore.api.types import Obj
from longshore.machinery.reasons import Reason
from longshore.scheduler.amounts import Amounts, rest
from longshore.scheduler.gang.conf import plugin_table
from longshore.scheduler.gang.model.group import Group
from longshore.scheduler.gang.model.queue import Queue
from longshore.scheduler.gang.model.task import Task
from longshore.scheduler.gang.plugins.gang_plugin import ABSTAIN, PERMIT, GangPlugin, Owned, Place
from longshore.scheduler.gang.trying import sharing
from longshore.scheduler.gang.trying.branches import WeightedTree
from longshore.scheduler.single import preemption

if TYPE_CHECKING:
    from longshore.scheduler.gang.preempt_and_reclaim import Claim

_CRITICAL: Final = ("system-cluster-critical", "system-node-critical")
_COOLDOWN_KEY: Final = "volcano.sh/cooldown-time"


class Priority(GangPlugin):
    def job_order(self, group: Group) -> float:
        return -group.priority

    def wanted(self, group: Group) -> int:
        return len(group.tasks)

    def victims(self, claim: Claim, found: Sequence[Owned]) -> list[Owned]:
        """Tasks of lower priority: by priorities of gangs, or of tasks if both are of one gang."""
        mine, task = claim.group, claim.task
        return [
            (owner, victim)
            for owner, victim in found
            if (victim.priority < task.priority if owner is mine else owner.priority < mine.priority)
        ]


class AllOrNothing(GangPlugin):
    """`gang`: other gangs may not take what a gang needs for its minimum."""

    def job_order(self, group: Group) -> float:
        return group.is_ready

    def wanted(self, group: Group) -> int:
        return group.min_member

    def victims(self, claim: Claim, found: Sequence[Owned]) -> list[Owned]:
        """Pods of a gang beyond its minimum."""
        left: dict[str, int] = {}
        spare = []
        for owner, victim in found:
            count = left.setdefault(owner.uid, owner.ready_count)
            if count > owner.min_member:
                left[owner.uid] = count - 1
                spare.append((owner, victim))
        return spare


class Conformance(GangPlugin):
    """`conformance`: protects pods that the cluster itself needs."""

    def victims(self, claim: Claim, found: Sequence[Owned]) -> list[Owned]:
        return [(owner, victim) for owner, victim in found if is_harmless(victim)]


def is_harmless(victim: Task) -> bool:
    """Whether the cluster can do without the task."""
    spec = victim.pod.obj["spec"]
    return victim.pod.key[0] != "kube-system" and spec.get("priorityClassName") not in _CRITICAL


class DominantShare(GangPlugin):
    """`drf`: the gang with the smallest dominant share of the cluster comes first."""

    def job_order(self, group: Group) -> float:
        return self.trial.share_of(group)

    def queue_order(self) -> Callable[[Queue], Place] | None:
        if not self.conf.argument(plugin_table.HIERARCHY):
            return None
        return WeightedTree(self.trial.queues, self.trial.shared).place

    def victims(self, claim: Claim, found: Sequence[Owned]) -> list[Owned]:
        """Pods of gangs that afterwards still have at least the share of the claiming gang."""
        mine, all_ = self.trial.share_of(claim.group), self.trial.shared
        holding: dict[str, Amounts] = {}
        named = []
        for owner, victim in found:
            left = rest(holding.get(owner.uid, owner.holding), victim.requests)
            if mine <= sharing.share(left, all_):
                holding[owner.uid] = left
                named.append((owner, victim))
        return named


class WaitingTime(GangPlugin):
    """`sla`: a gang that has waited its maximum time is admitted, and comes first."""

    def job_order(self, group: Group) -> float:
        return group.deadline if group.deadline is not None else float("inf")

    def vote(self, group: Group, queue: Queue) -> int:
        if not self.trial.is_overdue(group):
            return ABSTAIN
        assert group.deadline is not None  # a gang without one is never overdue
        waited = self.trial.now - group.deadline
        group.notes.append(Reason("WaitedTooLong", {"seconds": round(waited, 3)}))
        return PERMIT


class DisruptionBudgets(GangPlugin):
    """`pdb`: no eviction may break a disruption budget."""

    def victims(self, claim: Claim, found: Sequence[Owned]) -> list[Owned]:
        pods = [*self.trial.removed_pods(), *(victim.pod for _, victim in found)]
        _, kept = preemption.by_budget(pods, [*self.trial.budgets])
        uids = {pod.uid for pod in kept}
        return [each for each in found if each[1].pod.uid in uids]

    def removable(self, tasks: Sequence[Task]) -> Sequence[Task]:
        _, kept = preemption.by_budget([task.pod for task in tasks], [*self.trial.budgets])
        allowed = {pod.uid for pod in kept}
        return [task for task in tasks if task.pod.uid in allowed]


class Cooldown(GangPlugin):
    """`cdp`: a pod that has just started is protected for a while (`volcano.sh/cooldown-time: 10m`)."""

    def victims(self, claim: Claim, found: Sequence[Owned]) -> list[Owned]:
        return [each for each in found if not _is_cooling(each[1].pod.obj, self.trial.now)]


def _is_cooling(pod: Obj, now: float) -> bool:
    """Whether a running pod got its node so recently that it is protected. Its label counts before its
    annotation; a text that is no duration protects no pod."""
    meta = pod["metadata"]
    text = (meta.get("labels") or {}).get(_COOLDOWN_KEY) or (meta.get("annotations") or {}).get(_COOLDOWN_KEY)
    if not text or phase_of(pod) != "Running":
        return False
    try:
        seconds = durations.parse(str(text)) / 1e9
    except ValueError:
        return False
    placed = conditions.find(pod, "PodScheduled")
    if placed is None or placed.get("status") != "True" or not placed.get("lastTransitionTime"):
        return False
    return now < rfc3339.seconds(placed["lastTransitionTime"]) + seconds
