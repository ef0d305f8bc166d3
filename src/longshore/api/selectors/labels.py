"""Label selectors: `app in (a,b),tier!=x,!only` as a query parameter, or a LabelSelector object.

`parse` speaks kubectl's whole grammar and refuses with Kubernetes' own 400 texts; `from_selector` takes the
`matchLabels`/`matchExpressions` form after validation, and `from_unchecked` without it. Each gives a
`Selector` whose `matches` is compiled once, since a list runs it over every object.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Final

import msgspec

from longshore.api import errors
from longshore.api.selectors.grammar import Requirement, Unparsable, integer, requirements_of
from longshore.api.types import Obj

Labels = Mapping[str, str]
Predicate = Callable[[Labels], bool]


class Selector(msgspec.Struct, frozen=True):
    """All of `requirements` together. `matches(labels)` returns whether labels meet them all."""

    requirements: tuple[Requirement, ...]
    matches: Predicate
    nothing: bool = False
    """Whether the selector matches nothing at all, as a missing selector does."""

    @property
    def empty(self) -> bool:
        """Whether the selector matches everything."""
        return not self.requirements and not self.nothing


def parse(text: str) -> Selector:
    """Parses a `labelSelector` parameter. Raises a 400 if it is no selector."""
    if not text:
        return EVERYTHING
    try:
        return build(requirements_of(text))
    except Unparsable as problem:
        raise errors.bad_request(str(problem)) from None


def from_selector(selector: Obj | None) -> Selector:
    """The selector of a LabelSelector object: None selects nothing, an empty one everything."""
    if selector is None:
        return NOTHING
    requirements = [Requirement(k, "in", (v,)) for k, v in (selector.get("matchLabels") or {}).items()]
    for each in selector.get("matchExpressions") or ():
        operator = _OBJECT_OPERATORS[each["operator"]]
        requirements.append(Requirement(each["key"], operator, tuple(each.get("values") or ())))
    return build(requirements)


def from_unchecked(selector: Obj | None) -> Selector:
    """The selector of a LabelSelector object in a custom resource, whose schema allows any operator. A
    selector that cannot be read selects nothing."""
    for each in (selector or {}).get("matchExpressions") or ():
        if each.get("operator") not in _OBJECT_OPERATORS or "key" not in each:
            return NOTHING
    return from_selector(selector)


_OBJECT_OPERATORS: Final = {"In": "in", "NotIn": "notin", "Exists": "exists", "DoesNotExist": "!"}


def build(requirements: Iterable[Requirement]) -> Selector:
    """Compiles a selector of these requirements."""
    ordered = tuple(sorted(requirements, key=lambda r: r.key))
    return Selector(ordered, _compile(ordered))


def _compile(requirements: Sequence[Requirement]) -> Predicate:
    exact = {
        r.key: r.values[0] for r in requirements if r.operator in ("=", "==", "in") and len(r.values) == 1
    }
    if len(exact) == len(requirements):
        return _all_equal(exact)
    predicates = tuple(_predicate(r) for r in requirements)
    if len(predicates) == 1:
        return predicates[0]
    if len(predicates) == 2:
        first, second = predicates
        return lambda labels: first(labels) and second(labels)

    def matches(labels: Labels) -> bool:
        for predicate in predicates:  # noqa: SIM110 - a generator costs as much again as the loop
            if not predicate(labels):
                return False
        return True

    return matches


def _all_equal(wanted: dict[str, str]) -> Predicate:
    if not wanted:
        return lambda labels: True
    if len(wanted) == 1:
        key, value = next(iter(wanted.items()))
        return lambda labels: labels.get(key) == value
    pairs = tuple(wanted.items())

    def matches(labels: Labels) -> bool:
        for key, value in pairs:  # noqa: SIM110 - a generator costs as much again as the loop
            if labels.get(key) != value:
                return False
        return True

    return matches


def _predicate(requirement: Requirement) -> Predicate:
    key, values = requirement.key, frozenset(requirement.values)
    match requirement.operator:
        case "in" | "=" | "==":
            return lambda labels: labels.get(key) in values
        case "notin" | "!=":
            return lambda labels: labels.get(key) not in values
        case "exists":
            return lambda labels: key in labels
        case "!":
            return lambda labels: key not in labels
    bound = int(requirement.values[0])
    sign = 1 if requirement.operator == "gt" else -1

    def compare(labels: Labels) -> bool:
        number = integer(labels.get(key, ""))
        return number is not None and sign * number > sign * bound

    return compare


EVERYTHING: Final = build(())
NOTHING: Final = Selector((), lambda labels: False, nothing=True)
