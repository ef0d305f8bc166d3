"""Removes fields that an applier no longer applies, unless another manager owns them.

An item goes when the applier's previous configuration had it, the new one has not, and no other
manager claims it or anything in it.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from longshore.api.apply import fieldset
from longshore.api.apply.compare import item_step
from longshore.api.apply.fieldset import LEAF, SELF, is_member
from longshore.api.apply.owned import fields_of
from longshore.api.shape import FieldSet, ListShape, MapShape, Shape, UntypedShape
from longshore.api.types import Obj


def pruned(merged: Obj, shape: MapShape, last: FieldSet, claims: Iterable[FieldSet]) -> Obj:
    """`merged` without the abandoned part of `last`; `claims` are all managers' sets after this apply."""
    last = with_containers(last, shape)
    everything = with_containers(fields_of(merged, shape), shape)
    claimed: FieldSet = {}
    for claim in claims:
        claimed = fieldset.union(claimed, claim)
    claimed = with_containers(claimed, shape)
    left = with_containers(fields_of(removed(merged, shape, last), shape), shape)
    kept = fieldset.union(left, claimed)
    left = fields_of(removed(merged, shape, fieldset.difference(everything, kept)), shape)
    abandoned = fieldset.difference(everything, with_containers(left, shape))
    return removed(merged, shape, fieldset.intersection(abandoned, last))


def with_containers(fields: FieldSet, shape: Shape | None) -> FieldSet:
    """The set with every named field that has members in it put in as well."""
    out: FieldSet = {}
    for step, node in fields.items():
        if step == SELF or not node:
            out[step] = node
            continue
        child, named = _below(shape, step)
        inner = with_containers(node, child)
        out[step] = {SELF: LEAF, **inner} if named and SELF not in inner else inner
    return out


def _below(shape: Shape | None, step: str) -> tuple[Shape | None, bool]:
    """The shape one step down, and whether the step is a named field."""
    if isinstance(shape, MapShape) and step.startswith("f:"):
        known = shape.fields.get(step[2:])
        return known or shape.element, known is not None
    if isinstance(shape, ListShape):
        return shape.element, False
    return (shape if isinstance(shape, UntypedShape) else None), False


def removed(obj: Obj, shape: MapShape, gone: FieldSet) -> Obj:
    """The object without the fields in `gone`."""
    return (_without(obj, shape, gone) or {}) if gone else obj


def _without(value: Any, shape: Shape | None, gone: FieldSet) -> Any:
    if isinstance(shape, ListShape):
        return _list_without(value, shape, gone)
    if isinstance(shape, MapShape) and shape.atomic:
        return None
    if not isinstance(shape, MapShape | UntypedShape) or type(value) is not dict:
        return None if type(value) in (dict, list) else value
    out: Obj = {}
    for name, inner in value.items():
        step = "f:" + name
        node = gone.get(step)
        if node is None:
            out[name] = inner
        elif not is_member(node):
            out[name] = _without(inner, _below(shape, step)[0], node)
    return out or None


def _list_without(value: Any, shape: ListShape, gone: FieldSet) -> Any:
    if shape.type == "atomic" or not value:
        return None
    step_of = item_step(shape)
    out = []
    for item in value:
        node = gone.get(step_of(item))
        if node is None:
            out.append(item)
        elif not is_member(node):
            out.append(_without(item, shape.element, node))
    return out or None
