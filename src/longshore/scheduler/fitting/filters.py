"""Whether a node will do for a pod: upstream's filters in upstream's order, the first that objects answers.

What depends on the node and the pod's shape alone is remembered on the node until it changes, so that the
thousandth pod of a Job costs a look-up and a few comparisons. Gangs use the same function.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

import msgspec

from longshore.machinery.reasons import Reason
from longshore.scheduler import amounts
from longshore.scheduler.fitting import affinity, pod_claims, spreading, taints
from longshore.scheduler.fitting.affinity import NamespaceLabels, Survey
from longshore.scheduler.fitting.pod_claims import Needs, Volumes
from longshore.scheduler.fitting.pod_shape import Pod, Shape
from longshore.scheduler.fitting.spreading import Spread
from longshore.scheduler.fitting.verdict import NODE, ROOM, Failure, Refusal
from longshore.scheduler.ledger import Ledger, Node

_UNSCHEDULABLE: Final = Failure(("node(s) were unschedulable",), NODE)
_TAINTED: Final = "node(s) had untolerated taint(s)"
_UNSELECTED: Final = Failure(("node(s) didn't match Pod's node affinity/selector",), NODE)
_PORTS: Final = "node(s) didn't have free ports for the requested pod ports"
_FULL: Final = "Too many pods"


EVERY_FILTER: Final[frozenset[str]] = frozenset()
"""No filter is left out. The names of those that may be: node affinity, taints, ports, pod affinity, spread,
volumes."""


class Context(msgspec.Struct, frozen=True):
    """The facts of one pod, gathered before any node is checked."""

    survey: Survey | None
    spreads: tuple[Spread, ...]
    needs: Needs
    without: frozenset[str] = EVERY_FILTER
    """The filters that are not asked."""

    @property
    def is_plain(self) -> bool:
        """Whether only the node itself has a say."""
        return self is _PLAIN


_PLAIN: Final = Context(None, (), pod_claims.NOTHING)


def prepare(
    pod: Pod,
    ledger: Ledger,
    found: Volumes,
    namespaces: NamespaceLabels,
    nodes: Iterable[Node] | None = None,
    *,
    without: frozenset[str] = EVERY_FILTER,
) -> Context | Refusal:
    """Looks once at all that is not about a single node. `nodes` stand in for the ledger's own."""
    if pod.shape.plain and not ledger.repelling and not pod.obj["spec"].get("volumes") and not without:
        return _PLAIN
    needs = pod_claims.needs(pod, found)
    if isinstance(needs, Refusal):
        return needs
    there = [*(ledger if nodes is None else nodes)]
    spread = pod.shape.spread and "spread" not in without
    return Context(
        affinity.survey(pod, there, ledger.repelling.values(), namespaces)
        if "pod affinity" not in without
        else None,
        tuple(spreading.spreads(pod, there, required=True)) if spread else (),
        needs,
        without,
    )


def check(pod: Pod, node: Node, context: Context) -> Failure | None:
    """None when the node will do."""
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
        taken = Reason(
            "PortTaken", f"port {port[2]}/{port[1]} of node {node.name} is taken", {"port": port[2]}
        )
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
    """`check`, with room kept for pods of no less priority that others were removed for here."""
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
        words = f"node {node.name} has the taint {taint['key']}{value}:{taint['effect']}"
        return Failure((_TAINTED,), NODE, False, (Reason("Tainted", words),))
    selects = shape.selects if "node affinity" not in without else None
    if selects is not None and not selects(node.labels, node.name):
        return _UNSELECTED
    return None


def _lacking(pod: Pod, node: Node) -> Failure:
    """Every resource that is short, with numbers. What the node never had, no eviction gives."""
    reasons, numbers, resolvable = [], [], True
    limit = node.allocatable.get(amounts.PODS, 0)
    if node.left(amounts.PODS) < 1:
        reasons.append(_FULL)
        words = f"node {node.name} has {len(node.pods)} of {limit} pods"
        numbers.append(Reason("TooManyPods", words, {"pods": len(node.pods), "limit": limit}))
        resolvable = limit > 0
    for name, amount in pod.shape.requests.items():
        left, all_ = node.left(name), node.allocatable.get(name, 0)
        if amount > left:
            reasons.append(f"Insufficient {name}")
            asked, rest, whole = (amounts.bare(name, n) for n in (amount, max(left, 0), all_))
            words = f"asks {asked} {name}, node {node.name} has {rest} of {whole} left"
            counted = {"asked": asked, "left": rest, "allocatable": whole}
            numbers.append(Reason("Insufficient", words, counted))
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
