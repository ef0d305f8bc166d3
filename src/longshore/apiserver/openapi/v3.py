"""OpenAPI 3: one document for every group version, as `kubectl apply` and `kubectl explain` read them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from longshore.api.types import Obj
from longshore.apiserver.openapi import names, parameters
from longshore.apiserver.openapi.operations import Operation, PathItem
from longshore.apiserver.openapi.schemas import Schemas

_PHRASES: Final = {200: "OK", 201: "Created", 202: "Accepted"}
_SECURITY: Final[Obj] = {
    "BearerToken": {
        "description": "Bearer token",
        "in": "header",
        "name": "authorization",
        "type": "apiKey",
    }
}


def document(items: Iterable[PathItem], schemas: Schemas, version: str) -> Obj:
    """A whole document of these paths and every schema they need."""
    paths = {item.path: _path(item, schemas) for item in items}
    return {
        "openapi": "3.0.0",
        "info": {"title": "Kubernetes", "version": version},
        "paths": dict(sorted(paths.items())),
        "components": {"schemas": schemas.build(), "securitySchemes": _SECURITY},
        "security": [{"BearerToken": []}],
    }


def _path(item: PathItem, schemas: Schemas) -> Obj:
    out: Obj = {op.method: _operation(op, item, schemas) for op in item.operations}
    shared = (*item.parameters, "pretty") if item.pretty else item.parameters
    if shared:
        out["parameters"] = [_parameter(name) for name in shared]
    return out


def _operation(op: Operation, item: PathItem, schemas: Schemas) -> Obj:
    out: Obj = {
        "description": op.description,
        "operationId": op.id,
        "tags": [names.tag(item.group, item.version) if item.version else item.group],
    }
    if op.query:
        out["parameters"] = [_parameter(name) for name in op.query]
    if op.body:
        content = {type_: {"schema": schemas.ref(op.body)} for type_ in op.consumes}
        out["requestBody"] = {"content": content, **({"required": True} if op.body_required else {})}
    answer: Obj = schemas.ref(op.answer) if op.answer else {"type": "string"}
    out["responses"] = {
        str(code): {
            "description": _PHRASES[code],
            "content": {type_: {"schema": answer} for type_ in op.produces},
        }
        for code in op.codes
    }
    out["responses"]["401"] = {"description": "Unauthorized"}
    if op.action:
        out["x-kubernetes-action"] = op.action
    if op.gvk:
        group, version, kind = op.gvk
        out["x-kubernetes-group-version-kind"] = {"group": group, "kind": kind, "version": version}
    return out


def _parameter(name: str) -> Obj:
    p = parameters.find(name)
    out: Obj = {"name": p.name, "in": p.place}
    if p.description:
        out["description"] = p.description
    if p.required:
        out["required"] = True
    out["schema"] = {"type": p.type, "uniqueItems": True}
    return out
