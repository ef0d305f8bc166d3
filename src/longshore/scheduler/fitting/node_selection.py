"""Node selectors and node affinity of pods and volumes. Compiled once, evaluated often."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TypeAlias

from longshore.api.selectors.grammar import integer
from longshore.api.types import Obj

Labels: TypeAlias = dict[str, str]
Chooses: TypeAlias = Callable[[Labels, str], bool]
"""Whether a node is chosen, by its labels and name."""


def required(spec: Obj) -> Chooses | None:
    """The condition of nodeSelector and required node affinity together; None if there is none."""
    wanted: Labels = spec.get("nodeSelector") or {}
    affinity = (spec.get("affinity") or {}).get("nodeAffinity") or {}
    selector = affinity.get("requiredDuringSchedulingIgnoredDuringExecution")
    terms = None if selector is None else any_of(selector.get("nodeSelectorTerms") or ())
    if not wanted:
        return terms
    pairs = tuple(wanted.items())

    def chooses(labels: Labels, name: str) -> bool:
        if any(labels.get(key) != value for key, value in pairs):
            return False
        return terms is None or terms(labels, name)

    return chooses


def preferred(spec: Obj) -> tuple[tuple[int, Chooses], ...]:
    """Preferred node affinity: weights and their conditions."""
    affinity = (spec.get("affinity") or {}).get("nodeAffinity") or {}
    terms = affinity.get("preferredDuringSchedulingIgnoredDuringExecution") or ()
    return tuple((term["weight"], _term(term.get("preference") or {}, empty=True)) for term in terms)


def any_of(terms: Iterable[Obj]) -> Chooses:
    """Chooses nodes that match at least one term; a term without conditions matches no node."""
    compiled = [_term(term, empty=False) for term in terms]
    return lambda labels, name: any(term(labels, name) for term in compiled)


def _term(term: Obj, *, empty: bool) -> Chooses:
    labels = [_requirement(r) for r in term.get("matchExpressions") or ()]
    fields = [_requirement(r) for r in term.get("matchFields") or ()]
    if not labels and not fields:
        return lambda _labels, _name: empty

    def chooses(found: Labels, name: str) -> bool:
        own = {"metadata.name": name}
        return all(test(found) for test in labels) and all(test(own) for test in fields)

    return chooses


def _requirement(requirement: Obj) -> Callable[[Labels], bool]:
    key, values = requirement["key"], tuple(requirement.get("values") or ())
    match requirement["operator"]:
        case "In":
            return lambda labels: key in labels and labels[key] in values
        case "NotIn":
            return lambda labels: labels.get(key) not in values
        case "Exists":
            return lambda labels: key in labels
        case "DoesNotExist":
            return lambda labels: key not in labels
        case "Gt":
            return lambda labels: _compares(labels.get(key), values, above=True)
        case "Lt":
            return lambda labels: _compares(labels.get(key), values, above=False)
    return lambda labels: False


def _compares(label: str | None, values: tuple[str, ...], *, above: bool) -> bool:
    if label is None or len(values) != 1:
        return False
    found, bound = integer(label), integer(values[0])
    if found is None or bound is None:
        return False
    return found > bound if above else found < bound
