"""Drops fields that a schema does not mention, and nulls that it does not allow.

Works in place and returns the unknown fields, without the dropped nulls. A part of type
`x-kubernetes-preserve-unknown-fields` keeps its unknown fields, but fields it does mention must fit their own
schema. `apiVersion`, `kind` and `metadata` of embedded resources are left to `embedded.py`.

Where a number is allowed, one without a fraction becomes an integer: 1.0 is stored as 1, as Kubernetes does.
"""

from __future__ import annotations

from typing import Any

from longshore.api.structural import wording
from longshore.api.structural.node import ABSENT, EMPTY, MAX_EXACT_FLOAT, META_FIELDS, Node
from longshore.api.structural.wording import Place


def prune(value: Any, node: Node) -> list[str]:
    """Drops fields from `value` in place; returns the paths of unknown fields, sorted."""
    unknown: list[Place] = []
    _walk(value, node, node.preserve, None, unknown)
    return sorted(map(wording.path, unknown)) if unknown else []


def _walk(value: Any, node: Node, keep: bool, place: Place, unknown: list[Place]) -> None:
    if type(value) is list:
        items = node.items
        if items is None:
            if keep:
                value[:] = map(_with_integers, value)
                return
            items = EMPTY
        keep = keep or items.preserve
        for index, item in enumerate(value):
            if type(item) is dict or type(item) is list:
                _walk(item, items, keep, (place, index), unknown)
            elif type(item) is float and _may_be_number(items):
                value[index] = _number(item)
        return
    properties, additional = node.properties, node.additional
    drop: list[str] = []
    for key, inner in value.items():
        if node.embedded and key in META_FIELDS:
            continue
        child = properties.get(key, additional)
        if child is None:
            if keep:
                value[key] = _with_integers(inner)
            else:
                drop.append(key)
                unknown.append((place, key))
        elif type(inner) is dict or type(inner) is list:
            _walk(inner, child, child.preserve, (place, key), unknown)
        elif inner is None and not child.nullable and child.default is ABSENT:
            drop.append(key)
        elif type(inner) is float and _may_be_number(child):
            value[key] = _number(inner)
    for key in drop:
        del value[key]


def _with_integers(value: Any) -> Any:
    """A value without a schema, with whole floats as integers."""
    if type(value) is dict:
        return {key: _with_integers(inner) for key, inner in value.items()}
    if type(value) is list:
        return [*map(_with_integers, value)]
    return _number(value) if type(value) is float else value


def _may_be_number(node: Node) -> bool:
    return not node.types or "integer" in node.types or "number" in node.types


def _number(value: float) -> int | float:
    return int(value) if value.is_integer() and abs(value) <= MAX_EXACT_FLOAT else value
