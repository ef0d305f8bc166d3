"""Fits recorded fields to a shape that has changed since: what became one leaf is owned as one.

Only custom kinds change their shape. A field that was one leaf and now has members needs nothing: its
owner keeps the field itself and none of the members, as upstream has it.
"""

from __future__ import annotations

from collections.abc import Sequence

from longshore.api.apply.fieldset import LEAF, SELF
from longshore.api.shape import FieldSet, ListShape, MapShape, Shape
from longshore.api.types import Obj


def fitted(known: Sequence[Obj], shape: MapShape) -> Sequence[Obj]:
    """The entries with their fields fitted; `known` itself when all fit already."""
    if shape.zero:
        return known
    out = []
    for entry in known:
        fields = _fitted(entry["fieldsV1"], shape)
        out.append(entry if fields is entry["fieldsV1"] else {**entry, "fieldsV1": fields})
    return out if any(a is not b for a, b in zip(out, known, strict=True)) else known


def _fitted(node: FieldSet, shape: Shape | None) -> FieldSet:
    if not node or not isinstance(shape, MapShape | ListShape):
        return node
    if shape.atomic if isinstance(shape, MapShape) else shape.type == "atomic":
        return LEAF
    out = node
    for step, below in node.items():
        if step == SELF:
            continue
        child = shape.element
        if isinstance(shape, MapShape):
            child = shape.fields.get(step[2:]) or shape.element
        fit = _fitted(below, child)
        if fit is not below:
            if out is node:
                out = dict(node)
            out[step] = fit
    return out
