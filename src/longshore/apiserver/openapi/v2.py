"""OpenAPI 2 (Swagger): one document of everything, for kubectl up to 1.28 and older tools."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from longshore.api.types import Obj
from longshore.apiserver.openapi import names, parameters
from longshore.apiserver.openapi.operations import Operation, PathItem
from longshore.apiserver.openapi.schemas import Schemas

_PHRASES: Final = {200: "OK", 201: "Created", 202: "Accepted"}


def document(items: Iterable[PathItem], schemas: Schemas, version: str) -> Obj:
    """A whole document of these paths and every definition they need."""
    paths = {item.path: _path(item, schemas) for item in items}
    return {
        "swagger": "2.0",
        "info": {"title": "Kubernetes", "version": version},
        "paths": dict(sorted(paths.items())),
        "definitions": schemas.build(),
        "securityDefinitions": {
            "BearerToken": {
                "description": "Bearer token",
                "in": "header",
                "name": "authorization",
                "type": "apiKey",
            }
        },
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
        "produces": list(op.produces),
        "consumes": list(op.consumes) or ["*/*"],
        "schemes": ["https"],
    }
    listed = [_parameter(name) for name in op.query]
    if op.body:
        body: Obj = {"name": "body", "in": "body", "schema": schemas.ref(op.body)}
        listed.insert(0, {**body, "required": True} if op.body_required else body)
    if listed:
        out["parameters"] = listed
    answer: Obj = schemas.ref(op.answer) if op.answer else {"type": "string"}
    out["responses"] = {str(code): {"description": _PHRASES[code], "schema": answer} for code in op.codes}
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
    return {**out, "type": p.type, "uniqueItems": True}
