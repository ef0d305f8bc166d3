"""The numbers behind /scale: their paths in the definition, and checks that they count replicas."""

from __future__ import annotations

from typing import Any, Final

import msgspec

from longshore.api import field
from longshore.api.field import FieldError
from longshore.api.types import Obj

_MAX_REPLICAS: Final = 2**31 - 1


class ScalePaths(msgspec.Struct, frozen=True):
    """Paths in an object, as the definition writes them (`.spec.replicas`)."""

    spec: str
    status: str
    selector: str = ""


def value_at(obj: Obj, path: str) -> Any:
    """The value at a simple path; None if there is none."""
    found: Any = obj
    for step in path.removeprefix(".").split("."):
        if not isinstance(found, dict):
            return None
        found = found.get(step)
    return found


def set_at(obj: Obj, path: str, value: Any) -> None:
    """Sets the value at a path; creates the objects on the way."""
    *outer, last = path.removeprefix(".").split(".")
    for step in outer:
        inner = obj.get(step)
        if not isinstance(inner, dict):
            inner = obj[step] = {}
        obj = inner
    obj[last] = value


def problems(obj: Obj, paths: ScalePaths) -> list[FieldError]:
    """The problems of numbers that /scale could not show."""
    return [error for path in (paths.spec, paths.status) if (error := _problem(obj, path)) is not None]


def _problem(obj: Obj, path: str) -> FieldError | None:
    number = value_at(obj, path)
    if type(number) is not int:
        return None  # missing counts as zero; the schema refuses other types
    if number < 0:
        return field.invalid(path, number, "should be a non-negative integer")
    if number > _MAX_REPLICAS:
        return field.invalid(path, number, f"should be less than or equal to {_MAX_REPLICAS}")
    return None
