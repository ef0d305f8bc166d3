"""Shapes of schemas for server-side apply: which parts are one leaf, which have an owner per member."""

from __future__ import annotations

from typing import Final

from longshore.api import shape
from longshore.api.shape import ListShape, ListType, MapShape, Shape
from longshore.api.structural.node import ABSENT, Node

_SCALARS: Final[dict[tuple[str, ...], Shape]] = {
    ("string",): shape.STRING,
    ("boolean",): shape.BOOLEAN,
    ("integer",): shape.NUMERIC,
    ("number",): shape.NUMERIC,
    ("integer", "string"): shape.ANY_SCALAR,
}
_LIST_TYPES: Final[dict[str, ListType]] = {"set": "set", "map": "map"}


def of_kind(node: Node, *, status_apart: bool) -> MapShape:
    """The shape of a whole kind from the node of its schema."""
    fields = {name: of(child) for name, child in node.properties.items()}
    element = shape.UNTYPED if node.preserve else None
    return shape.custom_kind(fields, status_apart=status_apart, element=element)


def of(node: Node) -> Shape:
    """The shape of any part of a schema."""
    if (scalar := _SCALARS.get(node.types)) is not None:
        return scalar
    if node.types == ("array",):
        return _list(node)
    if node.types != ("object",):
        return shape.UNTYPED
    fields: dict[str, Shape] = {}
    if node.embedded:
        meta = shape.shape_of_message("meta/v1.ObjectMeta")
        fields = {"apiVersion": shape.STRING, "kind": shape.STRING, "metadata": meta}
    fields.update((name, of(child)) for name, child in node.properties.items() if name not in fields)
    element = of(node.additional) if node.additional is not None else None
    if node.preserve or not (fields or element):
        element = shape.UNTYPED
    return MapShape(fields, element=element, atomic=node.map_type == "atomic")


def _list(node: Node) -> ListShape:
    if node.items is None:
        return ListShape(shape.UNTYPED)
    items = node.items
    defaults = {
        key: child.default
        for key in node.keys
        if (child := items.properties.get(key)) is not None and child.default is not ABSENT
    }
    return ListShape(of(items), _LIST_TYPES.get(node.list_type, "atomic"), keys=node.keys, defaults=defaults)
