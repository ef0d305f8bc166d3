"""Pod affinity and anti-affinity: required and preferred, in both directions.

Nodes are near each other if they have the same value for a label (`topologyKey`). One pass over the pods on
nodes (`survey`) counts matching pods by place; after that each node costs a few look-ups.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Final, TypeAlias

import msgspec

from longshore.api.selectors import labels as selectors
from longshore.api.selectors.labels import Selector
from longshore.api.types import Obj
from longshore.scheduler.fitting.verdict import NODE, PODS, ROOM, Failure

if TYPE_CHECKING:
    from longshore.scheduler.fitting.pod_shape import Pod
    from longshore.scheduler.ledger import Node

NamespaceLabels: TypeAlias = Callable[[str], Mapping[str, str]]
"""Returns the labels of a namespace; empty if it is not known."""
_REQUIRED: Final = "requiredDuringSchedulingIgnoredDuringExecution"
_PREFERRED: Final = "preferredDuringSchedulingIgnoredDuringExecution"
_ATTRACTED: Final = Failure(("node(s) didn't match pod affinity rules",), NODE | ROOM | PODS)
"""Wakes also for room: when the last matching pod has ended, a waiting pod may be the first of its group."""
_REPELS: Final = Failure(("node(s) didn't match pod anti-affinity rules",), NODE | ROOM | PODS, True)
_REPELLED: Final = Failure(
    ("node(s) didn't satisfy existing pods anti-affinity rules",), NODE | ROOM | PODS, True
)


class Term(msgspec.Struct, frozen=True):
    """Selects pods by namespace and labels. Nodes with equal values of the label `topology` are near."""

    topology: str
    selector: Selector
    namespaces: frozenset[str]
    namespace_selector: Selector
    weight: int = 0

    def matches(self, pod: Pod, namespaces: NamespaceLabels) -> bool:
        namespace = pod.key[0]
        if namespace not in self.namespaces and (
            self.namespace_selector.nothing or not self.namespace_selector.matches(namespaces(namespace))
        ):
            return False
        return self.selector.matches(pod.labels)


class Affinity(msgspec.Struct, frozen=True):
    """All affinity terms of one pod."""

    near: tuple[Term, ...]
    far: tuple[Term, ...]
    rather_near: tuple[Term, ...]
    rather_far: tuple[Term, ...]

    @property
    def repels(self) -> bool:
        return bool(self.far)

    @classmethod
    def of(cls, spec: Obj, namespace: str, labels: Mapping[str, str]) -> Affinity | None:
        affinity = spec.get("affinity") or {}
        near, far = affinity.get("podAffinity") or {}, affinity.get("podAntiAffinity") or {}

        def terms(found: Obj) -> tuple[Term, ...]:
            return tuple(_term(term, namespace, labels) for term in found.get(_REQUIRED) or ())

        def weighted(found: Obj) -> tuple[Term, ...]:
            return tuple(
                _term(term["podAffinityTerm"], namespace, labels, term["weight"])
                for term in found.get(_PREFERRED) or ()
            )

        if not near and not far:
            return None
        return cls(terms(near), terms(far), weighted(near), weighted(far))


def _term(term: Obj, namespace: str, labels: Mapping[str, str], weight: int = 0) -> Term:
    named, selector = term.get("namespaces") or (), term.get("namespaceSelector")
    own = not named and selector is None
    return Term(
        term["topologyKey"],
        with_keys(term, labels),
        frozenset((namespace,) if own else named),
        selectors.from_selector(selector),
        weight,
    )


def with_keys(term: Obj, labels: Mapping[str, str]) -> Selector:
    """The label selector, narrowed to the pod's own values of `matchLabelKeys` and `mismatchLabelKeys`."""
    selector = term.get("labelSelector")
    more = [
        {"key": key, "operator": operator, "values": [labels[key]]}
        for part, operator in (("matchLabelKeys", "In"), ("mismatchLabelKeys", "NotIn"))
        for key in term.get(part) or ()
        if key in labels
    ]
    if more and selector is not None:
        selector = {**selector, "matchExpressions": [*(selector.get("matchExpressions") or ()), *more]}
    return selectors.from_selector(selector)


Place: TypeAlias = tuple[str, str]
"""A label of nodes and its value."""


class Survey(msgspec.Struct):
    """The effect that pods on nodes have on the placement of one pod."""

    attracting: tuple[dict[Place, int], ...]
    """For each required affinity term, the number of pods that match all terms, by place."""
    repelling: dict[Place, int]
    """By place, the number of pods that this pod must not be near."""
    repelled: dict[Place, int]
    """By place, the number of pods that must not be near this pod."""
    alone: bool
    """Whether this pod is the first of its group: its terms match no pod yet except itself."""

    def check(self, pod: Pod, node: Node) -> Failure | None:
        affinity, labels = pod.shape.affinity, node.labels
        if affinity is not None and affinity.near:
            if any(term.topology not in labels for term in affinity.near):
                return _ATTRACTED
            met = all(
                counts.get((term.topology, labels[term.topology]))
                for term, counts in zip(affinity.near, self.attracting, strict=True)
            )
            if not met and not self.alone:
                return _ATTRACTED
        if self.repelling and any(labels.get(key) == value for key, value in self.repelling):
            return _REPELS
        if self.repelled and any(labels.get(key) == value for key, value in self.repelled):
            return _REPELLED
        return None


def survey(
    pod: Pod, nodes: Iterable[Node], repelling: Iterable[Pod], namespaces: NamespaceLabels
) -> Survey | None:
    """Counts pods by place; None if no rule of this pod or of other pods matters."""
    affinity = pod.shape.affinity
    others = [*repelling]
    required = affinity is not None and (affinity.near or affinity.far)
    if not required and not others:
        return None
    near = affinity.near if affinity is not None else ()
    far = affinity.far if affinity is not None else ()
    attracting: tuple[dict[Place, int], ...] = tuple({} for _ in near)
    repels: dict[Place, int] = {}
    repelled: dict[Place, int] = {}
    for node in nodes:
        for other in node.pods.values() if required else ():
            if near and all(term.matches(other, namespaces) for term in near):
                for term, counts in zip(near, attracting, strict=True):
                    _count(counts, node, term)
            for term in far:
                if term.matches(other, namespaces):
                    _count(repels, node, term)
        for other in others:
            if other.uid in node.pods and other.shape.affinity is not None:
                for term in other.shape.affinity.far:
                    if term.matches(pod, namespaces):
                        _count(repelled, node, term)
    alone = bool(near) and not any(attracting) and all(term.matches(pod, namespaces) for term in near)
    return Survey(attracting, repels, repelled, alone)


def _count(counts: dict[Place, int], node: Node, term: Term) -> None:
    value = node.labels.get(term.topology)
    if value is not None:
        counts[term.topology, value] = counts.get((term.topology, value), 0) + 1


def preference(pod: Pod, nodes: list[Node], namespaces: NamespaceLabels) -> dict[str, int]:
    """The score of each node: by preferred affinity of this pod, and of the pods on the node."""
    places: dict[Place, int] = {}
    own = pod.shape.affinity

    def weigh(node: Node, term: Term, weight: int) -> None:
        value = node.labels.get(term.topology)
        if value is not None:
            places[term.topology, value] = places.get((term.topology, value), 0) + weight

    for node in nodes:
        for other in node.pods.values():
            for affinity, about in ((own, other), (other.shape.affinity, pod)):
                if affinity is None:
                    continue
                for term in affinity.rather_near:
                    if term.matches(about, namespaces):
                        weigh(node, term, term.weight)
                for term in affinity.rather_far:
                    if term.matches(about, namespaces):
                        weigh(node, term, -term.weight)
    return {
        node.name: sum(weight for (key, value), weight in places.items() if node.labels.get(key) == value)
        for node in nodes
    }
