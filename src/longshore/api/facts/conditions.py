"""Conditions of an object: the entries of `status.conditions`, at most one of each type."""

from __future__ import annotations

from collections.abc import Iterable

from longshore.api.types import Obj


def find(obj: Obj, type: str) -> Obj | None:
    """The object's condition of this type; None when it has none."""
    return among((obj.get("status") or {}).get("conditions") or (), type)


def holds(obj: Obj, type: str) -> bool:
    """Whether the object's condition of this type says True."""
    return is_true((obj.get("status") or {}).get("conditions") or (), type)


def among(conditions: Iterable[Obj], type: str) -> Obj | None:
    """The first of `conditions` that has this type."""
    for condition in conditions:
        if condition.get("type") == type:
            return condition
    return None


def is_true(conditions: Iterable[Obj], type: str) -> bool:
    """Whether the first of `conditions` that has this type says True."""
    for condition in conditions:
        if condition.get("type") == type:
            return condition.get("status") == "True"
    return False
