"""The fields that an applied configuration owns.

A named field with members is not claimed itself, only its members; list items and free map keys are
claimed with their members; null and empty maps are claimed as they stand.
"""

from __future__ import annotations

from typing import Any

from longshore.api.apply.compare import item_step
from longshore.api.apply.fieldset import LEAF, SELF
from longshore.api.shape import FieldSet, ListShape, MapShape, Shape, UntypedShape
from longshore.api.types import Obj


def fields_of(obj: Obj, shape: Shape) -> FieldSet:
    """The set of fields of a whole object. The object must be well-formed (see `shape_check.problem_of`)."""
    return _fields(obj, shape) or {}


def _fields(value: Any, shape: Shape) -> FieldSet | None:
    """The node of a value; None when it has no fields of its own (an empty list or map)."""
    if isinstance(shape, MapShape) and not shape.atomic:
        if type(value) is not dict:
            return None if value is None else LEAF
        return _map_fields(value, shape)
    if isinstance(shape, UntypedShape) and type(value) is dict:
        return _map_fields(value, shape)
    if isinstance(shape, ListShape) and shape.type != "atomic":
        return _list_fields(value, shape) if value else None
    return LEAF


def _map_fields(value: Obj, shape: MapShape | UntypedShape) -> FieldSet | None:
    out: FieldSet = {}
    for name, inner in value.items():
        known = shape.fields.get(name) if isinstance(shape, MapShape) else None
        child = known or (shape.element if isinstance(shape, MapShape) else shape)
        node = _fields(inner, child) if child is not None else LEAF
        if inner is None or inner == {} or known is None:
            node = _claimed(node)
        if node is not None:
            out["f:" + name] = node
    return out or None


def _list_fields(value: list[Any], shape: ListShape) -> FieldSet:
    step_of = item_step(shape)
    out: FieldSet = {}
    for item in value:
        step = step_of(item)
        out[step] = LEAF if step in out else _claimed(_fields(item, shape.element))
    return out


def _claimed(node: FieldSet | None) -> FieldSet:
    return {SELF: LEAF, **node} if node else LEAF
