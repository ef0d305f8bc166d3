"""Columns of custom resources: the name, then the printer columns of the definition.

A column finds its value by JSONPath and shows the first one found, converted to the column's type; a
value of another type leaves the cell empty. Volcano's kinds bring their columns with them.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import Any, Final

import msgspec

from longshore.api import field, jsonpath
from longshore.api.resources import PrinterColumn
from longshore.api.time import ages, rfc3339
from longshore.api.types import Obj, decode
from longshore.apiserver.tables.cells import NAME, Column, Printer, column, name_of

_DEFAULT: Final = (
    PrinterColumn(
        "Age", "date", ".metadata.creationTimestamp", description="Time since the object was created."
    ),
)

_STATUS: Final = PrinterColumn("STATUS", "string", ".status.state.phase", description="Phase of the object.")
_AGE: Final = PrinterColumn("AGE", "date", ".metadata.creationTimestamp")
_QUEUE: Final = PrinterColumn("QUEUE", "string", ".spec.queue", priority=1)

VOLCANO: Final = {
    ("batch.volcano.sh", "Job"): (
        _STATUS,
        PrinterColumn("minAvailable", "integer", ".status.minAvailable"),
        PrinterColumn("RUNNINGS", "integer", ".status.running"),
        _AGE,
        _QUEUE,
    ),
    ("scheduling.volcano.sh", "PodGroup"): (
        PrinterColumn("STATUS", "string", ".status.phase"),
        PrinterColumn("minMember", "integer", ".spec.minMember"),
        PrinterColumn("RUNNINGS", "integer", ".status.running"),
        _AGE,
        _QUEUE,
    ),
    ("scheduling.volcano.sh", "Queue"): (PrinterColumn("PARENT", "string", ".spec.parent"),),
    ("topology.volcano.sh", "HyperNode"): (
        PrinterColumn("Tier", "string", ".spec.tier"),
        PrinterColumn("TierName", "string", ".spec.tierName"),
        PrinterColumn("NodeCount", "integer", ".status.nodeCount"),
        PrinterColumn("Age", "date", ".metadata.creationTimestamp"),
    ),
    ("flow.volcano.sh", "JobFlow"): (
        PrinterColumn("Status", "string", ".status.state.phase"),
        PrinterColumn("Age", "date", ".metadata.creationTimestamp"),
    ),
}


def printer(group: str, kind: str, columns: tuple[PrinterColumn, ...]) -> Printer:
    """The printer of a custom resource. `columns` are those of a user's definition."""
    own = columns or VOLCANO.get((group, kind)) or _DEFAULT
    readers: list[Callable[[Obj, datetime], Any]] = []
    for each in own:
        try:
            readers.append(_reader(each))
        except jsonpath.JSONPathError:
            # A broken column must not hide the objects: those before it are shown.
            break

    def cells(obj: Obj, now: datetime) -> list[Any]:
        return [name_of(obj), *(read(obj, now) for read in readers)]

    return Printer((NAME, *map(_definition, own[: len(readers)])), cells)


def _definition(own: PrinterColumn) -> Column:
    text = own.description or f"Column of the custom resource: {own.json_path}"
    return column(own.name, text, own.type, format=own.format, priority=own.priority)


def _reader(own: PrinterColumn) -> Callable[[Obj, datetime], Any]:
    path = jsonpath.parse(own.json_path)
    convert: Callable[[Any, datetime], Any] = _CONVERT.get(own.type, _nothing)

    def read(obj: Obj, now: datetime) -> Any:
        found = path.find(obj)
        return convert(found[0], now) if found else None

    return read


def _nothing(value: Any, now: datetime) -> None:
    return None


def _string(value: Any, now: datetime) -> str:
    if isinstance(value, str):
        return value
    if value is None:
        return "<no value>"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        # A whole number is shown without a fraction, also if it was read as a float.
        return str(int(value)) if abs(value) < 1e21 and value == int(value) else repr(value)
    return field.json_text(decode(msgspec.json.encode(value, order="sorted")))


def _integer(value: Any, now: datetime) -> int | None:
    return int(value) if isinstance(value, int | float) and not isinstance(value, bool) else None


def _number(value: Any, now: datetime) -> float | None:
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None


def _boolean(value: Any, now: datetime) -> bool | None:
    return value if isinstance(value, bool) else None


def _date(value: Any, now: datetime) -> str | None:
    if not isinstance(value, str):
        return None
    if not value:
        return ages.UNKNOWN
    try:
        rfc3339.parse(value)
    except ValueError:
        return ages.INVALID
    return ages.age(value, now)


_CONVERT: Final[dict[str, Callable[[Any, datetime], Any]]] = {
    "string": _string,
    "integer": _integer,
    "number": _number,
    "boolean": _boolean,
    "date": _date,
}
