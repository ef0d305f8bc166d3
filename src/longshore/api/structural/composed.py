"""`allOf`, `anyOf`, `oneOf` and `not`: rules that hold when other schemas do.

If no alternative fits, the problem itself names no field. The problems of the alternative with the best fit
are added, by the count of Kubernetes' validator.
"""

from __future__ import annotations

from typing import Any

from longshore.api import field
from longshore.api.structural import validate, wording
from longshore.api.structural.node import Node
from longshore.api.structural.wording import Place, Problem


def check(value: Any, node: Node, place: Place, found: list[Problem]) -> None:
    if node.any_of and not (node.any_of_int_or_string and type(value) in (int, str)):
        _any_of(value, node, place, found)
    if node.one_of:
        _one_of(value, node, place, found)
    if node.all_of:
        _all_of(value, node, place, found)
    if node.not_ is not None and not _wrong_with(value, node.not_, place):
        found.append(_say(place, "must not validate the schema (not)"))


def _say(place: Place, rule: str) -> Problem:
    return wording.without_field(place, f"{field.quoted(wording.path(place))} {rule}")


def _wrong_with(value: Any, node: Node, place: Place) -> list[Problem]:
    wrong: list[Problem] = []
    validate.check(value, node, place, wrong)
    return wrong


def _any_of(value: Any, node: Node, place: Place, found: list[Problem]) -> None:
    failures = []
    for alternative in node.any_of:
        wrong = _wrong_with(value, alternative, place)
        if not wrong:
            return
        failures.append((_fit(value, alternative), wrong))
    found.append(_say(place, "must validate at least one schema (anyOf)"))
    found += _best(failures)


def _one_of(value: Any, node: Node, place: Place, found: list[Problem]) -> None:
    failures, valid = [], 0
    for alternative in node.one_of:
        wrong = _wrong_with(value, alternative, place)
        if wrong:
            failures.append((_fit(value, alternative), wrong))
        else:
            valid += 1
    if valid == 1:
        return
    how_many = f"Found {valid} valid alternatives" if valid else "Found none valid"
    found.append(_say(place, f"must validate one and only one schema (oneOf). {how_many}"))
    if not valid:
        found += _best(failures)


def _all_of(value: Any, node: Node, place: Place, found: list[Problem]) -> None:
    valid = 0
    for part in node.all_of:
        wrong = _wrong_with(value, part, place)
        found += wrong
        valid += not wrong
    if valid != len(node.all_of):
        none = "" if valid else ". None validated"
        found.append(_say(place, f"must validate all the schemas (allOf){none}"))


def _best(failures: list[tuple[int, list[Problem]]]) -> list[Problem]:
    """The problems of the alternative that came closest; of equally close ones, the first."""
    return max(failures, key=lambda failure: failure[0])[1]


def _fit(value: Any, node: Node) -> int:
    """How much of a schema applies to a value, counted as Kubernetes does."""
    count = 4
    if node.types and node.accepts is not None:
        count += 2 if type(value) in node.accepts else 1
    if isinstance(value, str):
        count += 2 if node.format_check is not None else 1
    elif isinstance(value, list):
        count += 2 + (sum(_fit(item, node.items) for item in value) if node.items is not None else 0)
    elif isinstance(value, dict):
        pairs = ((v, node.properties.get(key, node.additional)) for key, v in value.items())
        count += 1 + sum(_fit(v, child) for v, child in pairs if child is not None)
    elif value is not None:
        count += 2
    return count
