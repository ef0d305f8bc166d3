"""Cells that many kinds share: column definitions, ages, containers, selectors as text."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any, Final

import msgspec

from longshore.api.time import ages
from longshore.api.types import Obj

NONE: Final = "<none>"
UNSET: Final = "<unset>"

Column = Obj
"""A TableColumnDefinition."""
Cells = Callable[[Obj, datetime], list[Any]]
"""The cells of one object, in the order of the columns."""
Conditions = Callable[[Obj], list[Obj] | None]


def _unconditional(obj: Obj) -> list[Obj] | None:
    return None


class Printer(msgspec.Struct, frozen=True):
    """How one kind is shown: its columns, the cells under them, and conditions of the row."""

    columns: tuple[Column, ...]
    cells: Cells
    conditions: Conditions = msgspec.field(default=_unconditional)


def column(
    name: str, description: str, type: str = "string", *, format: str = "", priority: int = 0
) -> Column:
    """A column; `priority` 1 is for `-o wide`."""
    return {
        "name": name,
        "type": type,
        "format": format,
        "description": description,
        "priority": priority,
    }


def wide(name: str, description: str) -> Column:
    """A column that only `-o wide` shows."""
    return column(name, description, priority=1)


NAME: Final = column("Name", "Name of the object, unique among its kind in its namespace.", format="name")
AGE: Final = column("Age", "Time since the object was created.")
CONTAINERS: Final = wide("Containers", "Names of the containers in the pod template.")
IMAGES: Final = wide("Images", "Images of the containers in the pod template.")


def name_of(obj: Obj) -> str:
    name: str = obj["metadata"].get("name", "")
    return name


def age_of(obj: Obj, now: datetime) -> str:
    return ages.age(obj["metadata"].get("creationTimestamp"), now)


def containers_of(pod_spec: Obj) -> tuple[str, str]:
    """The names and the images of a pod template's containers, each joined by commas."""
    containers = pod_spec.get("containers") or ()
    return (
        ",".join(c.get("name", "") for c in containers),
        ",".join(c.get("image", "") for c in containers),
    )


def labels_text(labels: Mapping[str, str] | None) -> str:
    """`a=1,b=2` by key, or `<none>`."""
    return ",".join(f"{k}={v}" for k, v in sorted(labels.items())) if labels else NONE


def selector_text(selector: Obj | None) -> str:
    """A LabelSelector as a client would write it: `app=x,tier in (a,b),!old`, or `<none>`."""
    if not selector:
        return NONE
    parts = [(k, f"{k}={v}") for k, v in (selector.get("matchLabels") or {}).items()]
    parts += [(e["key"], _requirement(e)) for e in selector.get("matchExpressions") or ()]
    return ",".join(text for _, text in sorted(parts, key=lambda part: part[0])) or NONE


def _requirement(expression: Obj) -> str:
    key, operator = expression["key"], expression.get("operator")
    if operator == "Exists":
        return str(key)
    if operator == "DoesNotExist":
        return f"!{key}"
    word = "in" if operator == "In" else "notin"
    return f"{key} {word} ({','.join(sorted(expression.get('values') or ()))})"
