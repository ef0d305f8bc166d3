"""Topology spread: how evenly matching pods must be spread over zones, racks or nodes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Final

import msgspec

from longshore.api.facts import taints
from longshore.api.selectors.labels import Selector
from longshore.api.types import Obj
from longshore.machinery.reasons import Reason
from longshore.scheduler.fitting.affinity import with_keys
from longshore.scheduler.fitting.verdict import NODE, PODS, ROOM, Failure

if TYPE_CHECKING:
    from longshore.scheduler.fitting.pod_shape import Pod
    from longshore.scheduler.ledger import Node

_UNEVEN: Final = "node(s) didn't match pod topology spread constraints"
_UNLABELLED: Final = Failure((f"{_UNEVEN} (missing required label)",), NODE)


class Constraint(msgspec.Struct, frozen=True):
    """One entry of topologySpreadConstraints."""

    topology: str
    max_skew: int
    required: bool
    selector: Selector
    min_domains: int
    honors_affinity: bool
    honors_taints: bool


def constraints_of(spec: Obj, labels: Mapping[str, str]) -> tuple[Constraint, ...]:
    return tuple(
        Constraint(
            each["topologyKey"],
            each["maxSkew"],
            each.get("whenUnsatisfiable", "DoNotSchedule") == "DoNotSchedule",
            with_keys(each, labels),
            each.get("minDomains") or 1,
            each.get("nodeAffinityPolicy", "Honor") == "Honor",
            each.get("nodeTaintsPolicy", "Ignore") == "Honor",
        )
        for each in spec.get("topologySpreadConstraints") or ()
    )


class Spread(msgspec.Struct, frozen=True):
    """The number of matching pods in each domain of one constraint."""

    constraint: Constraint
    counts: dict[str, int]
    counts_itself: bool

    def check(self, node: Node) -> Failure | None:
        constraint = self.constraint
        domain = node.labels.get(constraint.topology)
        if domain is None:
            return _UNLABELLED
        least = 0 if len(self.counts) < constraint.min_domains else min(self.counts.values(), default=0)
        there = self.counts.get(domain, 0)
        skew = there + self.counts_itself - least
        if skew <= constraint.max_skew:
            return None
        counts = {"pods": there, "least": least, "most": constraint.max_skew}
        uneven = Reason("Uneven", {"topology": constraint.topology, "domain": domain, **counts})
        return Failure((_UNEVEN,), NODE | ROOM | PODS, True, (uneven,))


def spreads(pod: Pod, nodes: Iterable[Node], *, required: bool) -> list[Spread]:
    """Counts pods for the pod's required constraints, or for the other ones."""
    wanted = [each for each in pod.shape.spread if each.required is required]
    if not wanted:
        return []
    keys = [each.topology for each in wanted]
    counted: list[dict[str, int]] = [{} for _ in wanted]
    for node in nodes:
        if any(key not in node.labels for key in keys):
            continue
        for constraint, counts in zip(wanted, counted, strict=True):
            if not _counts(pod, node, constraint):
                continue
            domain = node.labels[constraint.topology]
            counts[domain] = counts.get(domain, 0) + sum(
                other.key[0] == pod.key[0]
                and "deletionTimestamp" not in other.obj["metadata"]
                and constraint.selector.matches(other.labels)
                for other in node.pods.values()
            )
    return [
        Spread(constraint, counts, constraint.selector.matches(pod.labels))
        for constraint, counts in zip(wanted, counted, strict=True)
    ]


def _counts(pod: Pod, node: Node, constraint: Constraint) -> bool:
    selects = pod.shape.selects
    if constraint.honors_affinity and selects is not None and not selects(node.labels, node.name):
        return False
    return not constraint.honors_taints or taints.untolerated(node.taints, pod.shape.tolerations) is None
