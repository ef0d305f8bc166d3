"""Checks a value against its schema, in the order in which Kubernetes' validator does.

The walk goes over the value, not over the schema, and a value of which only the type is restricted costs one
set look-up. Rules that combine schemas (`allOf` and the like) are in `composed.py`.
"""

from __future__ import annotations

import math
from typing import Any, Final

from longshore.api import gotext
from longshore.api.field import FieldError
from longshore.api.structural import composed, patterns, wording
from longshore.api.structural.node import ABSENT, INT64, INT_RANGES, MAX_EXACT_FLOAT, Node
from longshore.api.structural.wording import Place, Problem
from longshore.api.types import is_same

_NAMES: Final = {
    dict: "object",
    list: "array",
    str: "string",
    bool: "boolean",
    int: "integer",
    float: "number",
    type(None): "null",
}
_MAX_FLOAT32: Final = 3.4028234663852886e38


def problems(value: Any, node: Node, old: Any = ABSENT, place: Place = None) -> list[FieldError]:
    """Everything wrong with `value`, each problem once.

    With `old`, the value before this write, problems of unchanged parts are left out: a rule that was added
    later must not block other changes.
    """
    found: list[Problem] = []
    check(value, node, place, found)
    if found and old is not ABSENT:
        found = [p for p in found if not unchanged(p.place, value, old, node)]
    return list({str(p.error): p.error for p in found}.values())


def check(value: Any, node: Node, place: Place, found: list[Problem]) -> None:
    """Adds everything wrong with one value to `found`."""
    kind = type(value)
    if kind in node.plain:
        return
    if kind is int and (usual := node.integers) is not None and usual[0] <= value <= usual[1]:
        return
    if node.accepts is not None and kind not in node.accepts:
        _wrong_type(value, node, place, found)
    if value is None:
        if node.enum is not None and None not in node.enum:
            found.append(wording.unsupported(place, value, node.enum))
        return
    if node.composed:
        composed.check(value, node, place, found)
    if kind is str:
        _string(value, node, place, found)
    elif kind is int or kind is float:
        _number(value, node, place, found)
    elif kind is list:
        _list(value, node, place, found)
    if node.enum is not None and not _among(value, node.enum):
        found.append(wording.unsupported(place, value, node.enum))
    if kind is dict:
        _object(value, node, place, found)


def check_changes(value: Any, old: Any, node: Node, place: Place, found: list[Problem]) -> None:
    """Adds the problems of a value to `found`, except those of unchanged members of objects."""
    if type(value) is not dict or type(old) is not dict or not node.judges_members_alone:
        check(value, node, place, found)
        return
    properties, additional = node.properties, node.additional
    for key, inner in value.items():
        before = old.get(key, ABSENT)
        if is_same(inner, before):
            continue
        child = properties.get(key, additional)
        if child is not None and type(inner) not in child.plain:
            check_changes(inner, before, child, (place, key), found)
    for name in node.required:
        if name not in value:
            found.append(wording.required(place, name))


def _wrong_type(value: Any, node: Node, place: Place, found: list[Problem]) -> None:
    if value is None:
        if not node.nullable:
            found.append(wording.wrong_type(place, ",".join(node.types), "null"))
        return
    kind = type(value)
    if kind is float and "integer" in node.types and value.is_integer() and abs(value) <= MAX_EXACT_FLOAT:
        return
    if node.format and kind not in (str, list):
        found.append(wording.wrong_type(place, node.format, _go_format(value)))
    else:
        found.append(wording.wrong_type(place, ",".join(node.types), _NAMES[kind]))


def _go_format(value: Any) -> str:
    """The format Go's validator sees in a value."""
    return {int: "int64", float: "float64"}.get(type(value), "")


def _string(value: str, node: Node, place: Place, found: list[Problem]) -> None:
    if node.max_length is not None and len(value) > node.max_length:
        found.append(wording.too_long(place, node.max_length))
    elif node.min_length is not None and len(value) < node.min_length:
        found.append(wording.invalid(place, value, f"should be at least {node.min_length} chars long"))
    elif node.pattern and not patterns.matches(node.pattern, value):
        found.append(wording.invalid(place, value, f"should match '{node.pattern}'"))
    if node.format_check is not None and not node.format_check(value):
        found.append(wording.wrong_type(place, node.format, value))


def _number(value: int | float, node: Node, place: Place, found: list[Problem]) -> None:
    if type(value) is int and not INT64[0] <= value <= INT64[1]:
        # Go reads an integer of more than 64 bits as a float, which is too large to pass for one.
        value = float(value)
        if node.types == ("integer",):
            _wrong_type(value, node, place, found)
    _in_range(value, node, place, "Checked", found)
    if node.multiple_of is not None:
        _in_range(node.multiple_of, node, place, "MultipleOf", found)
        factor = _bound(node.multiple_of, value)
        if not _is_multiple(value, factor):
            found.append(wording.invalid(place, value, f"should be a multiple of {gotext.plain(factor)}"))
    if node.minimum is not None:
        _in_range(node.minimum, node, place, "Minimum boundary", found)
        limit = _bound(node.minimum, value)
        if value < limit or (node.exclusive_minimum and value == limit):
            than = "greater than" if node.exclusive_minimum else "greater than or equal to"
            found.append(wording.invalid(place, value, f"should be {than} {gotext.plain(limit)}"))
    if node.maximum is not None:
        _in_range(node.maximum, node, place, "Maximum boundary", found)
        limit = _bound(node.maximum, value)
        if value > limit or (node.exclusive_maximum and value == limit):
            than = "less than" if node.exclusive_maximum else "less than or equal to"
            found.append(wording.invalid(place, value, f"should be {than} {gotext.plain(limit)}"))


def _bound(limit: float, value: int | float) -> int | float:
    """A limit as Go compares it: without its fraction if the value is an integer."""
    return int(limit) if type(value) is int else float(limit)


def _is_multiple(value: int | float, factor: int | float) -> bool:
    if not factor:
        return True
    if isinstance(value, int) and isinstance(factor, int):
        return value % factor == 0
    quotient = 1 / factor * value if factor < 1 else value / factor
    return math.isfinite(quotient) and quotient == int(quotient)


def _in_range(value: float, node: Node, place: Place, what: str, found: list[Problem]) -> None:
    """Checks that a number, the value's own or one of the schema's, fits the format."""
    if node.types == ("integer",):
        low, high = INT_RANGES.get(node.format, INT64)
        if low <= value <= high and value == int(value):
            return
    elif node.format != "float" or abs(value) <= _MAX_FLOAT32:
        return
    form = f"with format {node.format}" if node.format else "(default format)"
    text = f"{what} value must be of type {','.join(node.types)} {form} in {wording.path(place)}"
    found.append(wording.without_field(place, text))


def _list(value: list[Any], node: Node, place: Place, found: list[Problem]) -> None:
    items = node.items
    if items is not None:
        plain = items.plain
        for index, item in enumerate(value):
            if type(item) not in plain:
                check(item, items, (place, index), found)
    if node.min_items is not None and len(value) < node.min_items:
        found.append(wording.invalid(place, len(value), f"should have at least {node.min_items} items"))
    if node.max_items is not None and len(value) > node.max_items:
        found.append(wording.too_many(place, len(value), node.max_items))


def _object(value: dict[str, Any], node: Node, place: Place, found: list[Problem]) -> None:
    if node.min_properties is not None and len(value) < node.min_properties:
        rule = f"should have at least {node.min_properties} properties"
        found.append(wording.invalid(place, len(value), rule))
        return
    if node.max_properties is not None and len(value) > node.max_properties:
        found.append(wording.too_many(place, len(value), node.max_properties))
        return
    properties, additional = node.properties, node.additional
    for key, inner in value.items():
        child = properties.get(key, additional)
        if child is None:
            continue
        if child is additional and not node.open:
            found.append(wording.forbidden_property(place, key))
        elif type(inner) not in child.plain:
            check(inner, child, (place, key), found)
    for name in node.required:
        if name not in value:
            found.append(wording.required(place, name))


def _among(value: Any, values: list[Any]) -> bool:
    """Whether `value` is one of `values`. Unlike in Python, True is not 1."""
    return any(value == v and isinstance(value, bool) == isinstance(v, bool) for v in values)


# ---- Forgives complaints about parts of an object that an update does not change.
#
# A part of the new object is compared with the part of the old one that it came from: the field of the
# same name, in a list of type map the item with the same keys. Items of other lists cannot be told apart
# and count as changed with their list.


def unchanged(place: Place, new: Any, old: Any, node: Node | None) -> bool:
    """Whether the value at `place`, or a container of it, is unchanged."""
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
    """The old item with the same keys as the new item of a list; ABSENT if there is none."""
    if node is None or node.list_type != "map" or not isinstance(old, list) or not isinstance(new, dict):
        return ABSENT
    keys = [new.get(key) for key in node.keys]
    for item in old:
        if isinstance(item, dict) and [item.get(key) for key in node.keys] == keys:
            return item
    return ABSENT
