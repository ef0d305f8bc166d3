"""OpenAPI 3: one document for every group version, as `kubectl apply` and `kubectl explain` read them."""

from __future__ import annotations

from collections.abc import Iterable

from longshore.api.types import Obj
from longshore.apiserver.openapi import common
from longshore.apiserver.openapi.operations import Operation, PathItem
from longshore.apiserver.openapi.schemas import Schemas


def document(items: Iterable[PathItem], schemas: Schemas, version: str) -> Obj:
    """A whole document of these paths and every schema they need."""

    def operation(op: Operation, out: Obj) -> Obj:
        if op.query:
            out["parameters"] = [_parameter(name) for name in op.query]
        if op.body:
            content = {type_: {"schema": schemas.ref(op.body)} for type_ in op.consumes}
            out["requestBody"] = {"content": content, **({"required": True} if op.body_required else {})}
        schema: Obj = schemas.ref(op.answer) if op.answer else {"type": "string"}
        answer = {type_: {"schema": schema} for type_ in op.produces}
        answers = {str(code): {"description": common.PHRASES[code], "content": answer} for code in op.codes}
        return common.with_answers(op, out, answers)

    paths = common.paths(items, operation, _parameter)
    return {
        "openapi": "3.0.0",
        "info": {"title": "Kubernetes", "version": version},
        "paths": paths,
        "components": {"schemas": schemas.build(), "securitySchemes": common.SECURITY_SCHEMES},
        "security": common.SECURITY,
    }


def _parameter(name: str) -> Obj:
    found, out = common.parameter(name)
    return {**out, "schema": {"type": found.type, "uniqueItems": True}}
