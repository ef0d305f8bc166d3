"""Tables from the server: the columns to show, and the text of cells."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from longshore.cli.printing.columns import Columns

if TYPE_CHECKING:
    from longshore.api.types import Obj

ACCEPT: Final = (
    "application/json;as=Table;v=v1;g=meta.k8s.io,"
    "application/json;as=Table;v=v1beta1;g=meta.k8s.io,application/json"
)
_ENDS: Final = "\f\n\r"


@dataclass
class Printer:
    """Prints the tables of one kind; the first table has the header."""

    wide: bool = False
    headers: bool = True
    prefix: str = ""
    """`job.batch/` if kinds are mixed, else empty."""
    with_namespace: bool = False
    labels: Sequence[str] = ()
    """Labels that get columns of their own."""
    all_labels: bool = False
    _definitions: list[Obj] = field(default_factory=list)
    _columns: Columns = field(default_factory=Columns)

    def text(self, table: Obj) -> str:
        """The lines for this table. In a watch only the first one has column definitions."""
        first = not self._definitions
        self._definitions = table.get("columnDefinitions") or self._definitions
        shown = [i for i, one in enumerate(self._definitions) if self.wide or not one.get("priority")]
        rows = [self._header(shown)] if first and self.headers else []
        rows += [self._row(row, shown) for row in table.get("rows") or ()]
        return self._columns.lines(rows)

    def _header(self, shown: list[int]) -> list[str]:
        cells = ["NAMESPACE"] * self.with_namespace
        cells += [self._definitions[i]["name"].upper() for i in shown]
        cells += [label.rpartition("/")[2].upper() for label in self.labels]
        return cells + ["LABELS"] * self.all_labels

    def _row(self, row: Obj, shown: list[int]) -> list[str]:
        meta = (row.get("object") or {}).get("metadata") or {}
        labels = meta.get("labels") or {}
        cells = [meta.get("namespace", "")] * self.with_namespace
        for i in shown:
            cell = written(row["cells"][i])
            is_name = self._definitions[i].get("format") == "name" or i == 0
            cells.append(self.prefix + cell if is_name and self.prefix else cell)
        cells += [labels.get(label, "") for label in self.labels]
        if self.all_labels:
            cells.append(",".join(f"{k}={v}" for k, v in sorted(labels.items())) or "<none>")
        return cells


def written(cell: Any) -> str:
    """The first line of a cell's text."""
    if cell is None:
        return ""
    if isinstance(cell, bool):
        return "true" if cell else "false"
    text = str(cell)
    for at, character in enumerate(text):
        if character in _ENDS:
            return text[:at] + "..."
    return text


def of_objects(answer: Obj) -> Obj:
    """A table of names and ages, for a server that makes no tables of this kind."""
    from datetime import UTC, datetime

    from longshore.api.time import ages

    now = datetime.now(UTC)
    objects = answer.get("items", [answer])
    rows = [
        {
            "cells": [obj["metadata"]["name"], ages.age(obj["metadata"].get("creationTimestamp"), now)],
            "object": obj,
        }
        for obj in objects
    ]
    return {"kind": "Table", "columnDefinitions": [{"name": "Name"}, {"name": "Age"}], "rows": rows}
