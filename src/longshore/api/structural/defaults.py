"""Fills in defaults: for a field that is not there, or null where null is not allowed.

Works in place. A default that is an object gets the defaults inside it, too.
"""

from __future__ import annotations

from typing import Any

from longshore.api.structural.node import ABSENT, Node
from longshore.api.types import copy_of


def fill(value: Any, node: Node) -> None:
    """Fills in everything the schema has a default for."""
    if not node.defaults_below:
        return
    if type(value) is dict:
        _object(value, node)
    elif type(value) is list and node.items is not None:
        items = node.items
        for index, item in enumerate(value):
            if item is None and not items.nullable and items.default is not ABSENT:
                item = value[index] = copy_of(items.default)
            fill(item, items)


def _object(value: dict[str, Any], node: Node) -> None:
    for name, child in node.defaulted:
        if name not in value or (value[name] is None and not child.nullable):
            value[name] = copy_of(child.default)
    properties, additional = node.properties, node.additional
    for key, inner in value.items():
        child = properties.get(key, additional)  # type: ignore[assignment]
        if child is None:
            continue
        if inner is None and child is additional and not child.nullable and child.default is not ABSENT:
            inner = value[key] = copy_of(child.default)
        if child.defaults_below:
            fill(inner, child)
