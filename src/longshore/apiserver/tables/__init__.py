"""Tables: what `kubectl get` prints, made by the server so that every client shows the same columns.

`PRINTERS` of the modules here say how each kind is shown. Built-in kinds without one get their name
and time of creation; custom resources get the columns of their definition (`custom.py`).
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from functools import lru_cache
from typing import Any, Final, Literal

from longshore.api import errors, field
from longshore.api.resources import Resource
from longshore.api.types import Obj
from longshore.apiserver.documents import metadata_only
from longshore.apiserver.tables import batch, core, custom, others, pods, storage
from longshore.apiserver.tables.cells import NAME, Column, Printer, column, name_of

__all__ = ["Include", "columns", "include_of", "rows", "table"]

Include = Literal["None", "Metadata", "Object"]
"""How much of each object a row carries along."""

META_V1: Final = "meta.k8s.io/v1"


def _plain(obj: Obj, now: datetime) -> list[Any]:
    return [name_of(obj), obj["metadata"].get("creationTimestamp") or "0001-01-01T00:00:00Z"]


_PLAIN: Final = Printer((NAME, column("Created At", "Time the object was created.", "date")), _plain)

_PRINTERS: Final = {
    **batch.PRINTERS,
    **pods.PRINTERS,
    **core.PRINTERS,
    **storage.PRINTERS,
    **others.PRINTERS,
}


def include_of(value: str) -> Include:
    """The `includeObject` parameter. Raises a 400 for a value Kubernetes does not know."""
    match value:
        case "" | "Metadata":
            return "Metadata"
        case "Object" | "None":
            return value
    problem = field.invalid("includeObject", value, "must be 'Metadata', 'Object', 'None', or empty")
    raise errors.bad_request(f"Unable to convert to Table as requested: {problem}")


def columns(resource: Resource) -> list[Column]:
    """The column definitions of a kind."""
    return list(_printer(resource).columns)


def rows(
    resource: Resource, objs: Iterable[Obj], include: Include, now: datetime, group_version: str = META_V1
) -> list[Obj]:
    """One row per object, as the resource serves it (without apiVersion and kind)."""
    printer = _printer(resource)
    cells, conditions = printer.cells, printer.conditions
    out = []
    for obj in objs:
        row: Obj = {"cells": cells(obj, now)}
        if (found := conditions(obj)) is not None:
            row["conditions"] = found
        match include:
            case "Metadata":
                row["object"] = metadata_only.item(obj, group_version)
            case "Object":
                row["object"] = {"kind": resource.kind, "apiVersion": resource.group_version, **obj}
            case "None":
                row["object"] = None
        out.append(row)
    return out


def table(
    resource: Resource,
    objs: Iterable[Obj],
    list_metadata: Obj,
    include: Include,
    now: datetime,
    with_columns: bool = True,
    group_version: str = META_V1,
) -> Obj:
    """A Table of these objects.

    `list_metadata` is the list's own, or for a single object just its resourceVersion. In a watch only
    the first event's table has columns.
    """
    return {
        "kind": "Table",
        "apiVersion": group_version,
        "metadata": list_metadata,
        "columnDefinitions": columns(resource) if with_columns else None,
        "rows": rows(resource, objs, include, now, group_version),
    }


def _printer(resource: Resource) -> Printer:
    if resource.style == "custom":
        return _custom(resource.group, resource.kind, resource.columns)
    return _PRINTERS.get((resource.group, resource.kind), _PLAIN)


_custom = lru_cache(maxsize=256)(custom.printer)
