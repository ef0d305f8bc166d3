"""Whether a node fits a pod: upstream's filters in upstream's order; the first that fails answers.

Results that depend only on the node and the pod's shape are kept on the node until it changes, those that
also depend on its pods until these change. So the thousandth pod of a Job costs a look-up for each node but
the one that took the pod before. Gangs use the same function.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

import msgspec

from longshore.api.facts import taints
from longshore.machinery.reasons import Reason
from longshore.scheduler import amounts
from longshore.scheduler.fitting import affinity, pod_claims, spreading
from longshore.scheduler.fitting.affinity import Survey
from longshore.scheduler.fitting.pod_claims import Needs
from longshore.scheduler.fitting.pod_shape import Pod, Shape
from longshore.scheduler.fitting.spreading import Spread
from longshore.scheduler.fitting.verdict import NODE, ROOM, Failure, Refusal
from longshore.scheduler.ledger import Node
from longshore.scheduler.view import SchedulerView

_UNSCHEDULABLE: Final = Failure(("node(s) were unschedulable",), NODE)
_TAINTED: Final = "node(s) had untolerated taint(s)"
_UNSELECTED: Final = Failure(("node(s) didn't match Pod's node affinity/selector",), NODE)
_PORTS: Final = "node(s) didn't have free ports for the requested pod ports"
_FULL: Final = "Too many pods"


EVERY_FILTER: Final[frozenset[str]] = frozenset()
"""No filter is skipped. Can be skipped: node affinity, taints, ports, pod affinity, spread, volumes."""


class Context(msgspec.Struct, frozen=True):
    """The facts about one pod, gathered before any node is checked."""

    survey: Survey | None
    spreads: tuple[Spread, ...]
    needs: Needs
    without: frozenset[str] = EVERY_FILTER
    """The filters that are skipped."""

    @property
    def is_plain(self) -> bool:
        """Whether the result depends on the node alone."""
        return self is _PLAIN


_PLAIN: Final = Context(None, (), pod_claims.NOTHING)


def prepare(
    pod: Pod,
    view: SchedulerView,
    nodes: Iterable[Node] | None = None,
    *,
    without: frozenset[str] = EVERY_FILTER,
) -> Context | Refusal:
    """Gathers the facts that do not depend on a single node. `nodes` replace the ledger's own."""
    ledger = view.ledger
    if pod.shape.plain and not ledger.repelling and not without and not pod_claims.claims_of(pod.obj):
        return _PLAIN
    needs = pod_claims.needs(pod, view.volumes)
    if isinstance(needs, Refusal):
        return needs
    there = [*(ledger if nodes is None else nodes)]
    spread = pod.shape.spread and "spread" not in without
    return Context(
        affinity.survey(pod, there, ledger.repelling.values(), view.namespaces)
        if "pod affinity" not in without
        else None,
        tuple(spreading.spreads(pod, there, required=True)) if spread else (),
        needs,
        without,
    )


def check(pod: Pod, node: Node, context: Context) -> Failure | None:
    """Why the node does not fit; None if it does."""
    if context is not _PLAIN:
        return _check(pod, node, context)
    shape = pod.shape
    if shape in node.judged:
        return node.judged[shape]
    return node.judge(shape, _check(pod, node, context))


def _check(pod: Pod, node: Node, context: Context) -> Failure | None:
    shape = pod.shape
    try:
        lasting = node.remembered[shape]
    except KeyError:
        lasting = _lasting(shape, node)
        node.remember(shape, lasting)
    if lasting is not None and (
        not context.without or (lasting := _lasting(shape, node, context.without)) is not None
    ):
        return lasting
    if shape.ports and "ports" not in context.without and (port := node.taken(shape.ports)) is not None:
        taken = Reason("PortTaken", {"port": port[2], "protocol": port[1], "node": node.name})
        return Failure((_PORTS,), ROOM, True, (taken,))
    left = node.allocatable.get(amounts.PODS, 0) - len(node.pods)
    if left < 1:
        return _lacking(pod, node)
    allocatable, used = node.allocatable, node.used
    for name, amount in shape.requests.items():
        if amount > allocatable.get(name, 0) - used.get(name, 0):
            return _lacking(pod, node)
    if context is _PLAIN:
        return None
    return _circumstances(pod, node, context)


def check_nominated(pod: Pod, node: Node, context: Context) -> Failure | None:
    """`check` with room kept for nominated pods of the same or higher priority."""
    rivals = [
        rival for rival in node.nominated.values() if rival.uid != pod.uid and rival.priority >= pod.priority
    ]
    if rivals:
        tried = node.copy()
        for rival in rivals:
            if rival.uid not in tried.pods:
                tried.add(rival)
        failure = check(pod, tried, context)
        if failure is not None:
            return failure
    return check(pod, node, context)


def _lasting(shape: Shape, node: Node, without: frozenset[str] = EVERY_FILTER) -> Failure | None:
    if node.unschedulable and not taints.tolerated(taints.UNSCHEDULABLE, shape.tolerations):
        return _UNSCHEDULABLE
    taint = taints.untolerated(node.taints, shape.tolerations)
    if taint is not None and "taints" not in without:
        value = f"={taint['value']}" if taint.get("value") else ""
        found = {"node": node.name, "taint": f"{taint['key']}{value}:{taint['effect']}"}
        return Failure((_TAINTED,), NODE, False, (Reason("Tainted", found),))
    selects = shape.selects if "node affinity" not in without else None
    if selects is not None and not selects(node.labels, node.name):
        return _UNSELECTED
    return None


def _lacking(pod: Pod, node: Node) -> Failure:
    """Every resource that is short, with numbers. If the node never had enough, evictions do not help."""
    reasons, numbers, resolvable = [], [], True
    limit = node.allocatable.get(amounts.PODS, 0)
    if node.left(amounts.PODS) < 1:
        reasons.append(_FULL)
        numbers.append(Reason("TooManyPods", {"node": node.name, "pods": len(node.pods), "limit": limit}))
        resolvable = limit > 0
    for name, amount in pod.shape.requests.items():
        left, all_ = node.left(name), node.allocatable.get(name, 0)
        if amount > left:
            reasons.append(f"Insufficient {name}")
            asked, rest, whole = (amounts.bare(name, n) for n in (amount, max(left, 0), all_))
            counted = {"asked": asked, "left": rest, "allocatable": whole}
            numbers.append(Reason("Insufficient", {"resource": name, "node": node.name, **counted}))
            resolvable = resolvable and amount <= all_
    return Failure(tuple(reasons), ROOM, resolvable, tuple(numbers))


def _circumstances(pod: Pod, node: Node, context: Context) -> Failure | None:
    failure = context.needs.check(node)
    if failure is not None and "volumes" not in context.without:
        return failure
    for spread in context.spreads:
        failure = spread.check(node)
        if failure is not None:
            return failure
    return context.survey.check(pod, node) if context.survey is not None else None
