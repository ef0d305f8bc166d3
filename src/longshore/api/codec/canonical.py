"""Turns the stored form of a message into the JSON that Kubernetes writes for it.

Go leaves out an `omitempty` field only when it is a nil pointer, an empty string, list or map, zero or false.
Structs are always written. A time that was never set is null. So is an empty list without `omitempty`, since
Kubernetes stores objects as protobuf, which has no empty lists.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any, Final, NamedTuple

from longshore.api import schema
from longshore.api.codec import gobase64
from longshore.api.schema import Field, Type
from longshore.api.types import Obj

OMIT_ZERO: Final = frozenset((("meta/v1.ObjectMeta", "creationTimestamp"),))
"""Struct fields that are left out if zero. Of the known kinds only this field has `omitzero`."""

_SCALAR_ZERO: Final = {"string": "", "bool": False, "int32": 0, "int64": 0, "float64": 0, "bytes": None}
_SPECIAL_ZERO: Final = {"Quantity": "0", "IntOrString": 0, "Duration": "0s"}

_Convert = Callable[[Any], Any]


class Rule(NamedTuple):
    """How one field is written."""

    name: str
    drop: bool
    """Whether an empty value is left out."""
    only_none_is_empty: bool
    zero: Callable[[], Any]
    convert: _Convert | None
    """Turns the stored value into JSON; None if they are the same."""


def render(message_id: str, stored: Obj) -> Obj:
    """The JSON of a stored message, fields in Go's order; kind and apiVersion first where set."""
    out: Obj = {}
    for name in ("kind", "apiVersion"):
        # Fields of the same name in other messages are written over below, in their own place.
        if schema.message(message_id).is_kind and stored.get(name):
            out[name] = stored[name]
    for name, drop, only_none, zero, convert in rules(message_id):
        value = stored.get(name)
        if value is None or (not only_none and not value):
            if not drop:
                out[name] = zero()
        else:
            out[name] = value if convert is None else convert(value)
    return out


@cache
def rules(message_id: str) -> tuple[Rule, ...]:
    return tuple(_rule(message_id, f) for f in schema.message(message_id).fields.values())


def _rule(message_id: str, f: Field) -> Rule:
    drop = f.omitempty
    if not f.optional:
        plain = f.type.kind in ("scalar", "list", "map")
        drop = (drop and plain) or (message_id, f.json) in OMIT_ZERO
    special = f.optional or f.type.kind == "special"
    return Rule(f.json, drop, special, (lambda: None) if f.optional else _zero(f.type), _converter(f.type))


def _zero(kind: Type) -> Callable[[], Any]:
    if kind.kind == "message":
        return lambda: render(kind.name, {})
    value = _SCALAR_ZERO.get(kind.name) if kind.kind == "scalar" else _SPECIAL_ZERO.get(kind.name)
    return lambda: value


def _converter(kind: Type) -> _Convert | None:
    match kind.kind:
        case "message":
            return lambda value: render(kind.name, value)
        case "list":
            return _each(kind.items, lambda value, one: [one(item) for item in value])
        case "map":
            return _each(kind.items, lambda value, one: {k: one(item) for k, item in value.items()})
    if kind.name == "bytes":
        return gobase64.encode
    if kind.name == "float64":
        return _shortest
    return _schema_union if kind.name.startswith("JSONSchemaPropsOr") else None


def _each(element: Type, build: Callable[[Any, _Convert], Any]) -> _Convert:
    convert = _converter(element)
    zero = _zero(element) if element.name != "bytes" else str

    def one(item: Any) -> Any:
        if item is None:
            return zero()
        return item if convert is None else convert(item)

    return lambda value: build(value, one)


def _shortest(value: float) -> int | float:
    return int(value) if value == int(value) and abs(value) < 1e21 else value


def _schema_union(value: Any) -> Any:
    if isinstance(value, dict):
        return render("apiextensions/v1.JSONSchemaProps", value)
    if isinstance(value, list):
        return [_schema_union(item) for item in value] or None
    return value
