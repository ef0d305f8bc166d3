"""Fits recorded fields to a shape that has changed since: what became one leaf is owned as one.

Only users' own kinds change their shape. A field that was one leaf and now has members needs nothing: its
owner keeps the field itself and none of the members, as upstream has it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from longshore.api.apply.fieldset import LEAF
from longshore.api.shape import FieldSet, ListShape, MapShape, Shape
from longshore.api.types import Obj


def fitted(known: Sequence[Obj], shape: MapShape) -> Sequence[Obj]:
    """The entries with their fields fitted; `known` itself when all fit already."""
    if shape.lasts:
        return known
    out = []
    for entry in known:
        fields = _fitted(entry["fieldsV1"], shape) if entry["fieldsV1"] else entry["fieldsV1"]
        out.append(entry if fields is entry["fieldsV1"] else {**entry, "fieldsV1": fields})
    return out if any(a is not b for a, b in zip(out, known, strict=True)) else known


def _fitted(node: FieldSet, shape: Shape | None) -> FieldSet:
    """A node that has others below it; one that has none fits any shape."""
    fields: Mapping[str, Shape] = {}
    if isinstance(shape, MapShape):
        if shape.atomic:
            return LEAF
        fields = shape.fields
    elif not isinstance(shape, ListShape):
        return node
    elif shape.type == "atomic":
        return LEAF
    out = node
    for step, below in node.items():
        if not below:
            continue
        fit = _fitted(below, fields.get(step[2:]) or shape.element)
        if fit is not below:
            if out is node:
                out = dict(node)
            out[step] = fit
    return out
