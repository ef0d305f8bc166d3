"""Who may be removed for whom: the plugins' answers, tier by tier. The first tier that names anybody decides.

Within a tier a victim must be named by every plugin that has a say. So with gangs protected in the first tier
nobody takes a pod that a gang needs as long as others have pods to spare, whatever a later tier would say.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final, TypeAlias

from longshore.scheduler import amounts
from longshore.scheduler.amounts import Amounts, rest, total
from longshore.scheduler.gang.conf import plugin_table
from longshore.scheduler.gang.model.group import Group
from longshore.scheduler.gang.model.task import RUNNING, Task
from longshore.scheduler.gang.rules import cooldown, revocable_zones
from longshore.scheduler.gang.settings import Plugin
from longshore.scheduler.gang.trying import sharing
from longshore.scheduler.gang.trying.trial import Session
from longshore.scheduler.single import preemption

_CRITICAL: Final = ("system-cluster-critical", "system-node-critical")
Owned: TypeAlias = tuple[Group, Task]


class Claim:
    """A task of a gang that needs room, and the point at which plugins are asked for it."""

    def __init__(self, session: Session, group: Group, task: Task, point: str) -> None:
        self.session, self.group, self.task, self.point = session, group, task, point
        self._tiers = session.settings.tiers_at(point)
        self.careful: bool = point == plugin_table.PREEMPTABLE and session.settings.option(
            "preempt", "enableTopologyAwarePreemption"
        )
        """Whether all nodes are looked at, and the one taken where removing hurts least."""

    def victims(self, found: Sequence[Owned]) -> tuple[int, list[Owned]]:
        """The tasks among `found` that make way, after the number of the tier that says so."""
        for number, tier in enumerate(self._tiers):
            named = self._named(tier, found)
            if named:
                return number, named
        return len(self._tiers), []

    def _named(self, tier: Sequence[Plugin], found: Sequence[Owned]) -> list[Owned]:
        kept: list[Owned] | None = None
        for plugin in tier:
            named = _RULES[plugin.name](self, found)
            uids = {victim.pod.uid for _, victim in named}
            kept = [each for each in (found if kept is None else kept) if each[1].pod.uid in uids]
            if not kept:
                return []
        return kept or []


def _of_less_priority(claim: Claim, found: Sequence[Owned]) -> list[Owned]:
    """Between gangs the gangs' priorities count, within one those of its tasks. Equal ones never make way."""
    mine, task = claim.group, claim.task
    return [
        (owner, victim)
        for owner, victim in found
        if (victim.priority < task.priority if owner is mine else owner.priority < mine.priority)
    ]


def _spare(claim: Claim, found: Sequence[Owned]) -> list[Owned]:
    """Pods that a gang has beyond its minimum."""
    left: dict[str, int] = {}
    spare = []
    for owner, victim in found:
        count = left.setdefault(owner.uid, owner.ready_count)
        if count > owner.min_member:
            left[owner.uid] = count - 1
            spare.append((owner, victim))
    return spare


def _harmless(claim: Claim, found: Sequence[Owned]) -> list[Owned]:
    """Nothing that a cluster needs to live."""
    return [(owner, victim) for owner, victim in found if is_harmless(victim)]


def is_harmless(victim: Task) -> bool:
    """Whether a cluster lives without the task."""
    spec = victim.pod.obj["spec"]
    return victim.pod.key[0] != "kube-system" and spec.get("priorityClassName") not in _CRITICAL


def _of_larger_share(claim: Claim, found: Sequence[Owned]) -> list[Owned]:
    """Pods of gangs that keep at least the share that the claiming gang has."""
    session = claim.session
    mine = session.share_of(claim.group)
    all_ = {name: amount for name, amount in session.total.items() if name != amounts.PODS}
    holding: dict[str, Amounts] = {}
    named = []
    for owner, victim in found:
        left = rest(holding.get(owner.uid, owner.holding), victim.requests)
        if mine <= sharing.share(left, all_):
            holding[owner.uid] = left
            named.append((owner, victim))
    return named


def _beyond_deserved(claim: Claim, found: Sequence[Owned]) -> list[Owned]:
    """Pods of queues that have more than they deserve, until they have no more than that."""
    have: dict[str, Amounts] = {}
    named = []
    tree, queues = claim.session.limits.tree, claim.session.queues
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


def _within_budgets(claim: Claim, found: Sequence[Owned]) -> list[Owned]:
    """Pods whose removal breaks no disruption budget."""
    pods = [*claim.session.removed_pods(), *(victim.pod for _, victim in found)]
    _, kept = preemption.by_budget(pods, [*claim.session.budgets])
    uids = {pod.uid for pod in kept}
    return [each for each in found if each[1].pod.uid in uids]


def _on_lasting_nodes(claim: Claim, found: Sequence[Owned]) -> list[Owned]:
    """Preemptable pods on nodes outside revocable zones, so many of each gang as its budget allows. Whoever
    is preemptable, or may be in such a zone, takes from nobody."""
    if claim.task.preemptable or revocable_zones.is_guest(claim.task):
        return []
    lasting = {node.name for node in claim.session.rooms.nodes if not node.labels.get(revocable_zones.LABEL)}
    left: dict[str, int] = {}
    named = []
    for owner, victim in found:
        count = left.setdefault(owner.uid, revocable_zones.budget(owner))
        if victim.node in lasting and victim.status == RUNNING and count > 0:
            left[owner.uid] = count - 1
            named.append((owner, victim))
    return named


def _warm(claim: Claim, found: Sequence[Owned]) -> list[Owned]:
    """Pods whose time after their start is over."""
    now = claim.session.now
    return [each for each in found if not cooldown.is_cooling(each[1].pod.obj, now)]


def _as_told(claim: Claim, found: Sequence[Owned]) -> list[Owned]:
    """Pods that the extender names."""
    extender = claim.session.extender
    assert extender is not None  # which has a say
    verb = "preemptableVerb" if claim.point == plugin_table.PREEMPTABLE else "reclaimableVerb"
    uids = extender.victims(verb, claim.task, [victim for _, victim in found])
    return [each for each in found if each[1].pod.uid in uids]


_RULES: Final[dict[str, Callable[[Claim, Sequence[Owned]], list[Owned]]]] = {
    "priority": _of_less_priority,
    "gang": _spare,
    "conformance": _harmless,
    "drf": _of_larger_share,
    "proportion": _beyond_deserved,
    "capacity": _beyond_deserved,
    "pdb": _within_budgets,
    "tdm": _on_lasting_nodes,
    "cdp": _warm,
    "extender": _as_told,
}
"""From those who could make way to those who do, by plugin."""
POINTS: Final = {"preempt": plugin_table.PREEMPTABLE, "reclaim": plugin_table.RECLAIMABLE}
"""The point at which an action asks."""
