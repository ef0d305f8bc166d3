"""Forgives complaints about parts of an object that an update does not change.

A part of the new object is compared with the part of the old one that it came from: the field of the
same name, in a list of type map the item with the same keys. Items of other lists cannot be told apart
and count as changed with their list.
"""

from __future__ import annotations

from typing import Any

from longshore.api.structural.node import ABSENT, Node
from longshore.api.structural.wording import Place
from longshore.api.types import is_same


def unchanged(place: Place, new: Any, old: Any, node: Node | None) -> bool:
    """Whether the value at `place`, or anything it is part of, is as it was before."""
    for step in _steps(place):
        if isinstance(step, int):
            old = _item(new[step], old, node)
            new, node = new[step], node.items if node is not None else None
        else:
            old = old.get(step, ABSENT) if isinstance(old, dict) else ABSENT
            new = new[step]
            node = node.properties.get(step, node.additional) if node is not None else None
        if old is ABSENT:
            return False
        if is_same(old, new):
            return True
    return False


def _steps(place: Place) -> list[str | int]:
    steps: list[str | int] = []
    while place is not None:
        place, step = place
        steps.append(step)
    steps.reverse()
    return steps


def _item(new: Any, old: Any, node: Node | None) -> Any:
    """The old item that a list's new one came from."""
    if node is None or node.list_type != "map" or not isinstance(old, list) or not isinstance(new, dict):
        return ABSENT
    keys = [new.get(key) for key in node.keys]
    for item in old:
        if isinstance(item, dict) and [item.get(key) for key in node.keys] == keys:
            return item
    return ABSENT
