"""The node of one pod, or why it waits: a pure function of the pod and a view of the cluster."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Final

import msgspec
from msgspec.structs import replace

from longshore.machinery.reasons import Number, Reason
from longshore.scheduler.fitting import filters
from longshore.scheduler.fitting.pod_claims import NOTHING, Needs
from longshore.scheduler.fitting.pod_shape import Pod
from longshore.scheduler.fitting.verdict import EVERYTHING, NODE, ROOM, Failure, Refusal
from longshore.scheduler.ledger import Node
from longshore.scheduler.single import preemption, scoring
from longshore.scheduler.single.preemption import Victims
from longshore.scheduler.view import SchedulerView

NO_NODES: Final = "no nodes available to schedule pods"
_NO_NODES: Final = Reason("NoNodes")
_MAX_REPORTED_NODES: Final = 5
"""The most nodes whose numbers are reported. The numbers of a hundred nodes would hide the reason."""


class PlacementPlan(msgspec.Struct, frozen=True):
    """The decision about a pod: to bind it to `node`; without a node to wait, and to evict `victims` if there
    are any."""

    node: str = ""
    needs: Needs | None = None
    """The requirements of the pod's claims before it can be bound."""
    victims: Victims | None = None
    message: str = ""
    """Why the pod waits, in upstream's words."""
    numbers: tuple[Reason, ...] = ()
    """The numbers of `why` that Events include, too."""
    wakes: int = 0
    """The changes after which to try again, as flags of `verdict`."""
    why: tuple[Reason, ...] = ()
    look_again: float | None = None
    """Never set: `wakes` says when to try again."""


def decide(pod: Pod, view: SchedulerView) -> PlacementPlan:
    """Checks every node; considers evictions only if none fits."""
    ledger = view.ledger
    if not ledger.nodes:
        return PlacementPlan(message=NO_NODES, wakes=NODE | ROOM, why=(_NO_NODES,))
    context = filters.prepare(pod, view)
    if isinstance(context, Refusal):
        return _refused(pod, view, context)
    failures: dict[str, Failure] = {}
    fit: list[Node] = []
    for node in ledger:
        if node.nominated:
            failure = filters.check_nominated(pod, node, context)
        else:
            failure = filters.check(pod, node, context)
        if failure is None:
            fit.append(node)
        else:
            failures[node.name] = failure
    if len(fit) == 1:
        plan = _only(fit[0].name, 1 + len(failures))
        return plan if context.needs is plan.needs else replace(plan, needs=context.needs)
    if fit:
        node = _choice(pod, fit, view)
        return PlacementPlan(node.name, context.needs, why=_chosen(node, fit, failures))
    return _waits(pod, view, failures)


def _choice(pod: Pod, fit: list[Node], view: SchedulerView) -> Node:
    nominated = (pod.obj.get("status") or {}).get("nominatedNodeName")
    for node in fit if nominated else ():
        if node.name == nominated:
            return node
    return scoring.best(pod, fit, view.namespaces)


@lru_cache(maxsize=64)
def _only(node: str, count: int) -> PlacementPlan:
    """The plan if one node fits. Cached, since all pods of a Job get the same plan on a single node."""
    return PlacementPlan(node, NOTHING, why=(Reason("OnlyNode", {"node": node, "nodes": count}),))


def _chosen(node: Node, fit: list[Node], failures: Mapping[str, Failure]) -> tuple[Reason, ...]:
    return (Reason("BestNode", {"node": node.name, "fit": len(fit), "unfit": len(failures)}),)


def _refused(pod: Pod, view: SchedulerView, refusal: Refusal) -> PlacementPlan:
    """The plan if all nodes are refused for one reason: no node is named, and evictions cannot help."""
    count = len(view.ledger.nodes)
    failures = {name: Failure((), refusal.wakes) for name in view.ledger.nodes}
    said, _ = _after(pod, view, failures)
    message = f"0/{count} nodes are available: {refusal.reason}. {said}"
    return PlacementPlan(message=message, wakes=refusal.wakes, why=(_unschedulable(message, count),))


def _waits(pod: Pod, view: SchedulerView, failures: Mapping[str, Failure]) -> PlacementPlan:
    said, victims = _after(pod, view, failures)
    message = available(failures.values()) + (f" {said}" if said else "")
    numbers = tuple(text for failure in failures.values() for text in failure.numbers)[:_MAX_REPORTED_NODES]
    wakes = 0
    for failure in failures.values():
        wakes |= failure.wakes
    why = (_unschedulable(message, len(failures)), *numbers)
    if victims is not None:
        gone = ", ".join("/".join(each.key) for each in victims.pods)
        preempts: dict[str, Number] = {"node": victims.node, "pods": gone, "victims": len(victims.pods)}
        why = (*why, Reason("Preempts", preempts))
        wakes = EVERYTHING
    return PlacementPlan(victims=victims, message=message, numbers=numbers, wakes=wakes, why=why)


def _unschedulable(message: str, nodes: int) -> Reason:
    return Reason("Unschedulable", {"message": message, "nodes": nodes})


def _after(pod: Pod, view: SchedulerView, failures: Mapping[str, Failure]) -> tuple[str, Victims | None]:
    """The plan after preemption was considered: with its victims, or with the reason why there are none."""
    barred = preemption.eligible(pod, view.ledger)
    if barred:
        return f"preemption: {barred}", None
    found = preemption.find(pod, failures, view)
    if found.victims is not None:
        return "", found.victims
    return f"preemption: {_histogram(len(failures), found.reasons.values())}", None


def available(failures: Iterable[Failure]) -> str:
    """The summary `0/2 nodes are available: 1 Insufficient cpu, 1 Too many pods.`."""
    reasons = [failure.reasons for failure in failures]
    return _histogram(len(reasons), reasons)


def _histogram(nodes: int, reasons: Iterable[tuple[str, ...]]) -> str:
    counts = Counter(reason for each in reasons for reason in each)
    told = ", ".join(sorted(f"{count} {reason}" for reason, count in counts.items()))
    return f"0/{nodes} nodes are available: {told}."
