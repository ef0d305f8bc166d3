"""OpenAPI 2 (Swagger): one document of everything, for kubectl up to 1.28 and older tools."""

from __future__ import annotations

from collections.abc import Iterable

from longshore.api.types import Obj
from longshore.apiserver.openapi import common
from longshore.apiserver.openapi.operations import Operation, PathItem
from longshore.apiserver.openapi.schemas import Schemas


def document(items: Iterable[PathItem], schemas: Schemas, version: str) -> Obj:
    """A whole document of these paths and every definition they need."""

    def operation(op: Operation, out: Obj) -> Obj:
        out |= {
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
        answers = {str(code): {"description": common.PHRASES[code], "schema": answer} for code in op.codes}
        return common.with_answers(op, out, answers)

    return {
        "swagger": "2.0",
        "info": {"title": "Kubernetes", "version": version},
        "paths": common.paths(items, operation, _parameter),
        "definitions": schemas.build(),
        "securityDefinitions": common.SECURITY_SCHEMES,
        "security": common.SECURITY,
    }


def _parameter(name: str) -> Obj:
    found, out = common.parameter(name)
    return {**out, "type": found.type, "uniqueItems": True}
