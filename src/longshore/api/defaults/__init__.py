"""Defaults that the server fills in before anything else looks at an object. One file per kind."""

from __future__ import annotations

from typing import Any

from longshore.api.types import Obj


def fill(obj: Obj, **values: Any) -> None:
    """Sets the fields that are missing or empty."""
    for key, value in values.items():
        if not obj.get(key):
            obj[key] = value
