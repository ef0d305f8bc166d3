"""Finds the pods to evict so that a more important pod fits: least harm by upstream's rules. Deletes nothing.

On each node where it could help, all pods of lower priority are removed from a copy, then put back one by
one, the most important first, as long as the pod still fits. The node with the least harm is taken: fewest
broken disruption budgets, then the least important victims, then the fewest, then the youngest.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

import msgspec

from longshore.api.selectors import labels as selectors
from longshore.api.types import Obj
from longshore.scheduler.fitting import filters
from longshore.scheduler.fitting.pod_shape import Pod
from longshore.scheduler.fitting.verdict import Failure, Refusal
from longshore.scheduler.ledger import Ledger, Node
from longshore.scheduler.view import SchedulerView

NO_VICTIMS: Final = "No preemption victims found for incoming pod"
NOT_HELPFUL: Final = "Preemption is not helpful for scheduling"
NEVER: Final = "not eligible due to preemptionPolicy=Never."
LEAVING: Final = "not eligible due to a terminating pod on the nominated node."


class Victims(msgspec.Struct, frozen=True):
    """The pods to evict from one node, the most important first."""

    node: str
    pods: tuple[Pod, ...]
    violations: int


class Found(msgspec.Struct, frozen=True):
    """The result. If `victims` is None, no eviction helps, because of `reasons` (by node)."""

    victims: Victims | None
    reasons: Mapping[str, tuple[str, ...]]


def eligible(pod: Pod, ledger: Ledger) -> str:
    """Why the pod may not preempt; empty if it may. It waits while former victims are still terminating."""
    if not pod.shape.preempts:
        return NEVER
    nominated = (pod.obj.get("status") or {}).get("nominatedNodeName")
    node = ledger.nodes.get(nominated) if nominated else None
    if node is not None and any(
        other.priority < pod.priority and "deletionTimestamp" in other.obj["metadata"]
        for other in node.pods.values()
    ):
        return LEAVING
    return ""


def find(pod: Pod, failures: Mapping[str, Failure], view: SchedulerView) -> Found:
    """The node where evictions cost least. `failures` are the reasons of each node."""
    reasons: dict[str, tuple[str, ...]] = {}
    candidates = []
    budgets = [*view.budgets]
    for name, failure in failures.items():
        if not failure.resolvable:
            reasons[name] = (NOT_HELPFUL,)
            continue
        result = _on(pod, view.ledger.nodes[name], view, budgets)
        if isinstance(result, Victims):
            candidates.append(result)
        else:
            reasons[name] = result
    return Found(_cheapest(candidates), reasons)


def _on(pod: Pod, node: Node, view: SchedulerView, budgets: Sequence[Obj]) -> Victims | tuple[str, ...]:
    tried = node.copy()
    lower = [other for other in node.pods.values() if other.priority < pod.priority]
    if not lower:
        return (NO_VICTIMS,)
    for other in lower:
        tried.remove(other)

    def objection() -> Failure | Refusal | None:
        others = (tried if each is node else each for each in view.ledger)
        context = filters.prepare(pod, view, others)
        return context if isinstance(context, Refusal) else filters.check_nominated(pod, tried, context)

    failure = objection()
    if failure is not None:
        return failure.reasons if isinstance(failure, Failure) else (failure.reason,)
    broken, kept = by_budget(sorted(lower, key=_importance), budgets)
    victims, violations = [], 0
    for group, violates in ((broken, True), (kept, False)):
        for other in group:
            tried.add(other)
            if objection() is not None:
                tried.remove(other)
                victims.append(other)
                violations += violates
    return Victims(node.name, tuple(sorted(victims, key=_importance)), violations)


def _importance(pod: Pod) -> tuple[int, str]:
    """The sort key, most important first: by priority, then by start."""
    return -pod.priority, pod.started


def by_budget(pods: Iterable[Pod], budgets: Sequence[Obj]) -> tuple[list[Pod], list[Pod]]:
    """Pods whose eviction would break a disruption budget, and the other pods."""
    allowed = [(budget.get("status") or {}).get("disruptionsAllowed") or 0 for budget in budgets]
    chosen = [selectors.from_selector(budget["spec"].get("selector")) for budget in budgets]
    broken: list[Pod] = []
    kept: list[Pod] = []
    for pod in pods:
        violates = False
        for n, budget in enumerate(budgets):
            if budget["metadata"]["namespace"] != pod.key[0] or not chosen[n].matches(pod.labels):
                continue
            if pod.key[1] in ((budget.get("status") or {}).get("disruptedPods") or {}):
                continue
            allowed[n] -= 1
            violates = violates or allowed[n] < 0
        (broken if violates else kept).append(pod)
    return broken, kept


def _cheapest(candidates: Sequence[Victims]) -> Victims | None:
    def harm(victims: Victims) -> tuple[int, int, int, int]:
        priorities = [pod.priority for pod in victims.pods]
        # Shifted, so that many victims of negative priority do not look better than one.
        total = sum(priority + 2**31 for priority in priorities)
        return victims.violations, max(priorities, default=-(2**31)), total, len(priorities)

    if not candidates:
        return None
    least = min(map(harm, candidates))
    return max((each for each in candidates if harm(each) == least), key=_earliest)


def _earliest(victims: Victims) -> str:
    """The earliest start among the most important victims. The later it is, the less work is lost."""
    highest = max((pod.priority for pod in victims.pods), default=0)
    return min((pod.started for pod in victims.pods if pod.priority == highest), default="")
