"""Lists of type set and map hold nothing twice: no equal items, no two items with the same keys."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import msgspec

from longshore.api import field
from longshore.api.field import FieldError
from longshore.api.structural.node import Node
from longshore.api.types import Obj


def problems(value: Any, node: Node, path: str = "") -> list[FieldError]:
    """Every item that is there a second time. Keys of maps stand in brackets, as Kubernetes prints them."""
    found: list[FieldError] = []
    _walk(value, node, path, found)
    return found


def _walk(value: Any, node: Node, path: str, found: list[FieldError]) -> None:
    if type(value) is dict:
        for key, inner in value.items():
            child = node.properties.get(key)
            if child is not None and child.lists_below:
                _walk(inner, child, f"{path}.{key}" if path else key, found)
            elif child is None and node.additional is not None and node.additional.lists_below:
                _walk(inner, node.additional, f"{path}[{key}]", found)
    elif type(value) is list:
        if node.list_type == "set":
            found += [field.duplicate(f"{path}[{i}]", value[i]) for i in _repeated(value)]
        elif node.list_type == "map":
            found += _same_keys(value, node, path)
        if node.items is not None and node.items.lists_below:
            for index, item in enumerate(value):
                _walk(item, node.items, f"{path}[{index}]", found)


def _same_keys(value: list[Any], node: Node, path: str) -> list[FieldError]:
    for index, item in enumerate(value):
        if item is not None and type(item) is not dict:
            return [
                field.invalid(f"{path}[{index}]", item, "must be an object for an array of list-type map")
            ]
    if len(value) < 2:
        return []
    keys: list[Obj] = [{k: item[k] for k in node.keys if k in item} if item else {} for item in value]
    return [field.duplicate(f"{path}[{i}]", keys[i]) for i in _repeated(keys)]


def _repeated(items: Iterable[Any]) -> list[int]:
    """Where values come a second time; a third is not told."""
    seen: dict[bytes, int] = {}
    out = []
    for index, item in enumerate(items):
        text = msgspec.json.encode(item, order="sorted")
        seen[text] = seen.get(text, 0) + 1
        if seen[text] == 2:
            out.append(index)
    return out
