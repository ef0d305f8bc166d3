"""Volcano's resource definitions for a cluster without Volcano, written from longshore's own tables."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from longshore.api.kinds import table, volcano
from longshore.api.resources import PrinterColumn, Resource
from longshore.api.types import Obj
from longshore.apiserver.tables.custom import VOLCANO


def documents() -> list[Obj]:
    """A CustomResourceDefinition for each of Volcano's kinds, with the whole schema of pods."""
    return [_definition(row) for row in table.RESOURCES if row.group.endswith(".volcano.sh")]


def _definition(row: Resource) -> Obj:
    names: Obj = {"kind": row.kind, "listKind": row.list_kind, "plural": row.plural, "singular": row.singular}
    if row.short_names:
        names["shortNames"] = [*row.short_names]
    version: Obj = {
        "name": row.version,
        "served": True,
        "storage": True,
        "schema": {"openAPIV3Schema": _whole(_keyed(volcano.schema_of(row.group_version, row.kind)))},
    }
    if "status" in row.subresources:
        version["subresources"] = {"status": {}}
    if columns := [*_columns(VOLCANO.get((row.group, row.kind), ()))]:
        version["additionalPrinterColumns"] = columns
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{row.plural}.{row.group}"},
        "spec": {
            "group": row.group,
            "names": names,
            "scope": "Namespaced" if row.namespaced else "Cluster",
            "versions": [version],
        },
    }


def _whole(schema: Obj) -> Obj:
    """A definition must name the three fields that every object has."""
    own = {"apiVersion": {"type": "string"}, "kind": {"type": "string"}, "metadata": {"type": "object"}}
    return {**schema, "properties": {**own, **schema["properties"]}}


def _keyed(value: Any) -> Any:
    """A schema in which the keys of lists are required or have a default: a definition must say so."""
    if isinstance(value, list):
        return [_keyed(item) for item in value]
    if not isinstance(value, dict):
        return value
    made = {name: _keyed(inner) for name, inner in value.items()}
    if keys := made.get("x-kubernetes-list-map-keys"):
        items = made["items"]
        required = [key for key in keys if "default" not in items["properties"][key]]
        items["required"] = sorted({*items.get("required", ()), *required})
    return made


def _columns(columns: Iterable[PrinterColumn]) -> Iterable[Obj]:
    for column in columns:
        made: Obj = {"name": column.name, "type": column.type, "jsonPath": column.json_path}
        if column.description:
            made["description"] = column.description
        if column.priority:
            made["priority"] = column.priority
        yield made
