"""Rows of the resource table from a definition: one for each version that is served.

All versions share one key space in the store, and objects are stored as they are: conversion only changes the
apiVersion, which is not stored. An object may have been written with another schema: of another version, or
before a change. Then it is fitted to the present schema when it is read.
"""

from __future__ import annotations

from collections.abc import Mapping

from longshore.api.kinds import structural
from longshore.api.kinds.structural import StructuralStrategy
from longshore.api.resources import STATUS_VERBS, PrinterColumn, Resource, Subresource
from longshore.api.structural.scale import ScalePaths
from longshore.api.types import Obj
from longshore.api.validation.customresourcedefinition import is_true, schema_of

Key = tuple[str, str, str]


def rows(crd: Obj) -> list[Resource]:
    """The rows of a definition; none before it is established."""
    if not is_true(crd, "Established"):
        return []
    spec, names = crd["spec"], crd["status"]["acceptedNames"]
    mixed = crd["metadata"].get("generation", 1) > 1 or any(
        schema_of(v) != schema_of(spec["versions"][0]) for v in spec["versions"]
    )
    return [_row(spec, names, version, mixed=mixed) for version in spec["versions"] if version.get("served")]


def schemas(crd: Obj) -> Mapping[Key, Obj]:
    """The schema of each version, by group, version and kind."""
    spec, kind = crd["spec"], crd["status"]["acceptedNames"].get("kind", "")
    return {(spec["group"], v["name"], kind): schema_of(v) or {} for v in spec["versions"] if v.get("served")}


def _row(spec: Obj, names: Obj, version: Obj, *, mixed: bool) -> Resource:
    kind = names["kind"]
    list_kind = names.get("listKind", "")
    return Resource(
        group=spec["group"],
        version=version["name"],
        kind=kind,
        plural=names["plural"],
        singular=names.get("singular", ""),
        namespaced=spec["scope"] == "Namespaced",
        behaviour=_strategy(version, mixed=mixed),
        short_names=tuple(names.get("shortNames") or ()),
        categories=tuple(names.get("categories") or ()),
        subresources=_subresources(version, kind),
        style="custom",
        columns=tuple(_column(c) for c in version.get("additionalPrinterColumns") or ()),
        list_name="" if list_kind == f"{kind}List" else list_kind,
        selectable=tuple(f["jsonPath"].removeprefix(".") for f in version.get("selectableFields") or ()),
        warning=_deprecation(spec, kind, version),
    )


def _strategy(version: Obj, *, mixed: bool) -> StructuralStrategy:
    subresources = version.get("subresources") or {}
    scale = subresources.get("scale")
    paths = None
    if scale is not None:
        paths = ScalePaths(
            scale["specReplicasPath"], scale["statusReplicasPath"], scale.get("labelSelectorPath", "")
        )
    schema = schema_of(version) or {}
    has_status = subresources.get("status") is not None
    return structural.structural_strategy(lambda: schema, paths, status=has_status, converts=mixed)


def _subresources(version: Obj, kind: str) -> dict[str, Subresource]:
    own = version.get("subresources") or {}
    found: dict[str, Subresource] = {}
    if own.get("status") is not None:
        found["status"] = Subresource("status", STATUS_VERBS, kind)
    if own.get("scale") is not None:
        found["scale"] = Subresource("scale", STATUS_VERBS, "Scale", "autoscaling/v1")
    return found


def _column(column: Obj) -> PrinterColumn:
    return PrinterColumn(
        column["name"],
        column["type"],
        column["jsonPath"],
        column.get("format", ""),
        column.get("description", ""),
        column.get("priority", 0),
    )


def _deprecation(spec: Obj, kind: str, version: Obj) -> str:
    if not version.get("deprecated"):
        return ""
    text: str = version.get("deprecationWarning") or f"{spec['group']}/{version['name']} {kind} is deprecated"
    return text
