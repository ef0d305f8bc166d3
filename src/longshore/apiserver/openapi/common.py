"""The part of a document that both dialects write in the same way."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Final

import msgspec

from longshore.api import schema
from longshore.api.types import Obj
from longshore.apiserver.openapi import descriptions, names
from longshore.apiserver.openapi.operations import Operation, PathItem


class _Parameter(msgspec.Struct, frozen=True):
    """A query or path parameter, described once for both dialects."""

    name: str
    place: str
    type: str
    description: str

    @property
    def required(self) -> bool:
        return self.place == "path"


_PATH: Final = {
    "name": "name of the object",
    "namespace": "namespace the object is in",
}
_QUERY: Final = {
    "pretty": ("string", "'true' for indented output."),
    "allowWatchBookmarks": ("boolean", "Ask a watch for BOOKMARK events, which carry no change."),
    "continue": ("string", "Token of an earlier list: go on where that page ended."),
    "dryRun": ("string", "'All': do everything but store the result."),
    "fieldManager": ("string", "Who makes this change, at most 128 printable characters."),
    "fieldSelector": ("string", "Only objects with these field values, e.g. metadata.name=x."),
    "fieldValidation": (
        "string",
        "What becomes of unknown and duplicate fields: 'Ignore', 'Warn' (default) or 'Strict'.",
    ),
    "force": ("boolean", "Take over fields from other managers (apply patches only)."),
    "gracePeriodSeconds": ("integer", "Seconds to wait before removing; 0 removes at once."),
    "labelSelector": ("string", "Only objects with these labels, e.g. app=x,tier in (a,b)."),
    "limit": ("integer", "At most so many objects on one page."),
    "orphanDependents": ("boolean", "Older form of propagationPolicy=Orphan."),
    "propagationPolicy": ("string", "What becomes of dependents: 'Orphan', 'Background' or 'Foreground'."),
    "resourceVersion": ("string", "Version the answer may be served from, or a watch starts at."),
    "resourceVersionMatch": ("string", "How to read resourceVersion: 'Exact' or 'NotOlderThan'."),
    "sendInitialEvents": ("boolean", "Begin a watch with all objects there are, then a bookmark."),
    "timeoutSeconds": ("integer", "End the list or watch after so many seconds."),
    "watch": ("boolean", "Stream changes instead of listing."),
}
_BY_NAME: Final = {
    **{name: _Parameter(name, "path", "string", text) for name, text in _PATH.items()},
    **{name: _Parameter(name, "query", type_, text) for name, (type_, text) in _QUERY.items()},
}
_TYPES: Final = {"bool": "boolean", "int32": "integer", "int64": "integer"}


def _parameter_named(name: str) -> _Parameter:
    """A parameter by name, or by `<message>:<field>` for the fields of an options kind."""
    message, colon, field = name.rpartition(":")
    if not colon:
        return _BY_NAME[name]
    type_ = schema.message(message).fields[field].type
    return _Parameter(field, "query", _TYPES.get(type_.name, "string"), descriptions.of_field(message, field))


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


def parameter(name: str) -> tuple[_Parameter, Obj]:
    """A parameter and its JSON, without the type, which differs by dialect."""
    found = _parameter_named(name)
    out: Obj = {"name": found.name, "in": found.place}
    if found.description:
        out["description"] = found.description
    if found.required:
        out["required"] = True
    return found, out
