"""Checks an applied configuration against its shape: unknown fields, wrong types, list keys.

Texts are those of structured-merge-diff, odd formats included, because clients show them.
"""

from __future__ import annotations

from typing import Any

from longshore.api import field, gotext
from longshore.api.apply import fieldset
from longshore.api.apply.compare import Untypable, item_step
from longshore.api.shape import ListShape, MapShape, ScalarShape, Shape
from longshore.api.types import Obj


def problem_of(obj: Obj, shape: MapShape, *, allow_duplicates: bool = False) -> str:
    """Everything wrong with a configuration in one text; empty when nothing is. `allow_duplicates` is for
    stored objects, which may have two list items of one key."""
    found: list[str] = []
    _check(obj, shape, "", found)
    if allow_duplicates:
        found = [text for text in found if ": duplicate entries for key " not in text]
    if len(found) <= 1:
        return "".join(found)
    return "\n".join(["errors:", *("  " + text for text in found)])


def _check(value: Any, shape: Shape, path: str, found: list[str]) -> None:
    if value is None:
        return
    if isinstance(shape, ScalarShape):
        if wrong := _wrong_scalar(value, shape):
            found.append(f"{path}: {wrong}")
    elif isinstance(shape, MapShape):
        if type(value) is dict:
            _check_map(value, shape, path, found)
        else:
            found.append(f"{path}: expected map, got &{{{gotext.plain(value)}}}")
    elif isinstance(shape, ListShape):
        if type(value) is list:
            _check_list(value, shape, path, found)
        else:
            found.append(f"{path}: expected list, got &{{{gotext.plain(value)}}}")


def _wrong_scalar(value: Any, shape: ScalarShape) -> str:
    number = type(value) in (int, float)
    if shape.type == "numeric" and not number:
        return f"expected numeric (int or float), got {gotext.type_name(value)}"
    if shape.type == "string" and type(value) is not str:
        return f"expected string, got &value.valueUnstructured{{Value:{gotext.syntax(value)}}}"
    if shape.type == "boolean" and type(value) is not bool:
        return f"expected boolean, got &{{{gotext.plain(value)}}}"
    if shape.type == "untyped" and type(value) in (dict, list):
        return f"expected any scalar, got &{{{gotext.plain(value)}}}"
    return ""


def _check_map(value: Obj, shape: MapShape, path: str, found: list[str]) -> None:
    for name, inner in value.items():
        child = shape.fields.get(name) or shape.element
        if child is None:
            found.append(f"{path}.{name}: field not declared in schema")
            return
        _check(inner, child, f"{path}.{name}", found)


def _check_list(value: list[Any], shape: ListShape, path: str, found: list[str]) -> None:
    if shape.type == "atomic":
        for index, item in enumerate(value):
            _check(item, shape.element, f"{path}[{index}]", found)
        return
    step_of = item_step(shape)
    seen: set[str] = set()
    for index, item in enumerate(value):
        try:
            step = step_of(item)
        except Untypable:
            found.append(f"{path}: element {index}: {_why_untypable(item, shape)}")
            return
        place = fieldset.step_text(step)
        if step in seen:
            found.append(f"{path}: duplicate entries for key {place}")
        seen.add(step)
        _check(item, shape.element, path + place, found)


def _why_untypable(item: Any, shape: ListShape) -> str:
    if shape.type == "set":
        if type(item) is dict:
            return "associative list without keys has an element that's a map type"
        if type(item) is list:
            return "not supported: associative list with lists as elements"
        return "associative list without keys has an element that's an explicit null"
    if item is None:
        return "associative list with keys may not have a null element"
    if type(item) is not dict:
        return "associative list with keys may not have non-map elements"
    key = next(k for k in shape.keys if k not in item and k not in shape.defaults)
    return (
        f"associative list with keys has an element that omits key field {field.quoted(key)} "
        "(and doesn't have default value)"
    )
