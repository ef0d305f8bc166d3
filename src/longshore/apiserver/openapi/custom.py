"""Schemas of custom resources: those of their definitions, completed with the fields that every object has.

References inside are written as plain schema names; `schemas.py` puts them into a dialect's form.
"""

from __future__ import annotations

from typing import Final

from longshore.api.resources import Resource
from longshore.api.types import Obj
from longshore.apiserver.openapi import descriptions, names

_GVK: Final = "x-kubernetes-group-version-kind"
_META: Final = names.of_message("meta/v1.ObjectMeta")
_LIST_META: Final = names.of_message("meta/v1.ListMeta")
_OPEN: Final[Obj] = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
# Keywords that version 2 lacks.
_ONLY_IN_3: Final = frozenset(("oneOf", "anyOf", "allOf", "not", "nullable"))


def of_item(resource: Resource, own: Obj | None) -> Obj:
    """The schema of a kind. A kind without a schema of its own allows any field."""
    body = dict(own or _OPEN)
    properties = dict(body.get("properties") or {})
    for name in ("apiVersion", "kind"):
        properties[name] = {"description": descriptions.of_field("", name), "type": "string"}
    properties["metadata"] = {"$ref": _META, "description": descriptions.of_field("", "metadata")}
    body["type"] = "object"
    body["properties"] = properties
    body[_GVK] = [_gvk(resource, resource.kind)]
    return body


def of_list(resource: Resource, item: str) -> Obj:
    """The schema of a kind's list; `item` is the schema name of the kind."""
    return {
        "description": f"A list of objects of kind {resource.kind}.",
        "type": "object",
        "required": ["items"],
        "properties": {
            "apiVersion": {"description": descriptions.of_field("", "apiVersion"), "type": "string"},
            "items": {"description": "The objects.", "type": "array", "items": {"$ref": item}},
            "kind": {"description": descriptions.of_field("", "kind"), "type": "string"},
            "metadata": {"$ref": _LIST_META, "description": "Metadata of the list."},
        },
        _GVK: [_gvk(resource, resource.list_kind)],
    }


def _gvk(resource: Resource, kind: str) -> Obj:
    return {"group": resource.group, "kind": kind, "version": resource.version}


def root_for_version_2(own: Obj) -> Obj:
    """The schema of a kind without keywords that only version 3 has. If it keeps unknown fields at its root,
    it becomes a plain object: clients of version 2 would refuse fields that are not listed."""
    if not own.get("x-kubernetes-preserve-unknown-fields"):
        return _for_version_2(own)
    return {"type": "object", _GVK: own[_GVK]}


def _for_version_2(own: Obj) -> Obj:
    """The schema without keywords that only version 3 has.

    A value that may be null, or a number as well as a string, loses its type: else clients of version 2 would
    refuse values that the server accepts.
    """
    drop = _ONLY_IN_3
    if own.get("nullable") or own.get("x-kubernetes-int-or-string"):
        drop = drop | {"type", "format", "items", "properties", "additionalProperties", "required"}
    out: Obj = {}
    for key, value in own.items():
        if key in drop:
            continue
        if key == "properties":
            out[key] = {name: _for_version_2(each) for name, each in value.items()}
        elif key in ("items", "additionalProperties") and isinstance(value, dict):
            out[key] = _for_version_2(value)
        else:
            out[key] = value
    return out
