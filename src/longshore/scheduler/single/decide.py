"""Where one pod goes, or why it waits: a pure function of the pod and a view of the cluster."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Final

import msgspec
from msgspec.structs import replace

from longshore.machinery.reasons import Reason
from longshore.scheduler.fitting import filters
from longshore.scheduler.fitting.pod_claims import NOTHING, Needs
from longshore.scheduler.fitting.pod_shape import Pod
from longshore.scheduler.fitting.verdict import EVERYTHING, NODE, ROOM, Failure, Refusal
from longshore.scheduler.ledger import Node
from longshore.scheduler.single import preemption, scoring
from longshore.scheduler.single.preemption import Victims
from longshore.scheduler.view import View

NO_NODES: Final = "no nodes available to schedule pods"
_NO_NODES: Final = Reason("NoNodes", "there are no nodes")
_TOLD_NODES: Final = 5
"""Nodes whose numbers are told; a hundred would bury the reason."""


class Plan(msgspec.Struct, frozen=True):
    """With a `node`: bind. Otherwise wait, and if there are `victims`, remove them first."""

    node: str = ""
    needs: Needs | None = None
    """The requirements of the pod's claims before it can be bound."""
    victims: Victims | None = None
    message: str = ""
    """In upstream's words, why it waits."""
    numbers: tuple[Reason, ...] = ()
    """The part of `why` that events tell, too."""
    wakes: int = 0
    """The changes that may change the answer, as flags of `verdict`."""
    why: tuple[Reason, ...] = ()
    look_again: float | None = None
    """Never set: what may help is in `wakes`."""


def decide(pod: Pod, view: View) -> Plan:
    """Looks at every node; removals are only considered when none will do."""
    ledger = view.ledger
    if not ledger.nodes:
        return Plan(message=NO_NODES, wakes=NODE | ROOM, why=(_NO_NODES,))
    context = filters.prepare(pod, ledger, view.volumes, view.namespaces)
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
        return Plan(node.name, context.needs, why=_chosen(node, fit, failures))
    return _waits(pod, view, failures)


def _choice(pod: Pod, fit: list[Node], view: View) -> Node:
    nominated = (pod.obj.get("status") or {}).get("nominatedNodeName")
    for node in fit if nominated else ():
        if node.name == nominated:
            return node
    return scoring.best(pod, fit, view.namespaces)


@lru_cache(maxsize=64)
def _only(node: str, count: int) -> Plan:
    """The plan that all pods of a Job get where one machine is the cluster."""
    words = f"node {node} is the only one of {count} that will do"
    return Plan(node, NOTHING, why=(Reason("OnlyNode", words, {"node": node, "nodes": count}),))


def _chosen(node: Node, fit: list[Node], failures: Mapping[str, Failure]) -> tuple[Reason, ...]:
    words = f"node {node.name} is the best of {len(fit)} that will do ({len(failures)} will not)"
    return (Reason("BestNode", words, {"node": node.name, "fit": len(fit), "unfit": len(failures)}),)


def _refused(pod: Pod, view: View, refusal: Refusal) -> Plan:
    """All nodes at once: no node is named, and removing pods cannot help."""
    count = len(view.ledger.nodes)
    failures = {name: Failure((), refusal.wakes) for name in view.ledger.nodes}
    said, _ = _after(pod, view, failures)
    message = f"0/{count} nodes are available: {refusal.reason}. {said}"
    return Plan(message=message, wakes=refusal.wakes, why=(_unschedulable(message, count),))


def _waits(pod: Pod, view: View, failures: Mapping[str, Failure]) -> Plan:
    said, victims = _after(pod, view, failures)
    message = available(failures.values()) + (f" {said}" if said else "")
    numbers = tuple(text for failure in failures.values() for text in failure.numbers)[:_TOLD_NODES]
    wakes = 0
    for failure in failures.values():
        wakes |= failure.wakes
    why = (_unschedulable(message, len(failures)), *numbers)
    if victims is not None:
        gone = ", ".join("/".join(each.key) for each in victims.pods)
        words = f"makes room on node {victims.node} by removing {gone}"
        why = (*why, Reason("Preempts", words, {"victims": len(victims.pods)}))
        wakes = EVERYTHING
    return Plan(victims=victims, message=message, numbers=numbers, wakes=wakes, why=why)


def _unschedulable(message: str, nodes: int) -> Reason:
    return Reason("Unschedulable", message, {"nodes": nodes})


def _after(pod: Pod, view: View, failures: Mapping[str, Failure]) -> tuple[str, Victims | None]:
    """The result of preemption: words when it finds no victims."""
    barred = preemption.eligible(pod, view.ledger)
    if barred:
        return f"preemption: {barred}", None
    found = preemption.find(pod, failures, view.ledger, view.volumes, view.namespaces, view.budgets)
    if found.victims is not None:
        return "", found.victims
    return f"preemption: {_histogram(len(failures), found.reasons.values())}", None


def available(failures: Iterable[Failure]) -> str:
    """`0/2 nodes are available: 1 Insufficient cpu, 1 Too many pods.`"""
    reasons = [failure.reasons for failure in failures]
    return _histogram(len(reasons), reasons)


def _histogram(nodes: int, reasons: Iterable[tuple[str, ...]]) -> str:
    counts = Counter(reason for each in reasons for reason in each)
    told = ", ".join(sorted(f"{count} {reason}" for reason, count in counts.items()))
    return f"0/{nodes} nodes are available: {told}."
