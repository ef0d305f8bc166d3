"""The part of a document that both dialects write in the same way."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Final

from longshore.api.types import Obj
from longshore.apiserver.openapi import names, parameters
from longshore.apiserver.openapi.operations import Operation, PathItem
from longshore.apiserver.openapi.parameters import Parameter

PHRASES: Final = {200: "OK", 201: "Created", 202: "Accepted"}
SECURITY_SCHEMES: Final[Obj] = {
    "BearerToken": {
        "description": "Bearer token",
        "in": "header",
        "name": "authorization",
        "type": "apiKey",
    }
}
SECURITY: Final[list[Obj]] = [{"BearerToken": []}]


def paths(
    items: Iterable[PathItem], operation: Callable[[Operation, Obj], Obj], parameter: Callable[[str], Obj]
) -> Obj:
    """All paths by name. `operation` adds the dialect's part to the common part that it is given."""
    found = {item.path: _path(item, operation, parameter) for item in items}
    return dict(sorted(found.items()))


def _path(item: PathItem, operation: Callable[[Operation, Obj], Obj], parameter: Callable[[str], Obj]) -> Obj:
    tag = names.tag(item.group, item.version) if item.version else item.group
    out: Obj = {op.method: operation(op, _described(op, tag)) for op in item.operations}
    shared = (*item.parameters, "pretty") if item.pretty else item.parameters
    if shared:
        out["parameters"] = [parameter(name) for name in shared]
    return out


def _described(op: Operation, tag: str) -> Obj:
    return {"description": op.description, "operationId": op.id, "tags": [tag]}


def with_answers(op: Operation, out: Obj, answers: Obj) -> Obj:
    """An operation with its answers and its `x-kubernetes-` extensions."""
    out["responses"] = {**answers, "401": {"description": "Unauthorized"}}
    if op.action:
        out["x-kubernetes-action"] = op.action
    if op.gvk:
        group, version, kind = op.gvk
        out["x-kubernetes-group-version-kind"] = {"group": group, "kind": kind, "version": version}
    return out


def parameter(name: str) -> tuple[Parameter, Obj]:
    """A parameter, and its JSON up to the type, which differs by dialect."""
    found = parameters.find(name)
    out: Obj = {"name": found.name, "in": found.place}
    if found.description:
        out["description"] = found.description
    if found.required:
        out["required"] = True
    return found, out
