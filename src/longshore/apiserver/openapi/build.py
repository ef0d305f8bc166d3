"""Builds documents: selects the paths of each, and the schemas that those paths need."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from longshore.api import schema
from longshore.api.resources import Resource
from longshore.api.types import Obj
from longshore.apiserver.documents import server_info
from longshore.apiserver.openapi import common, custom, names, operations
from longshore.apiserver.openapi.operations import Operation, PathItem
from longshore.apiserver.openapi.schemas import Schemas

Keys = Mapping[str, tuple[str, str]]
"""The documents of version 3 by their key in the index, with the group and version each is about."""
Crds = Mapping[tuple[str, str, str], Obj]

_TOP: Final = {
    "version": ("getCodeVersion", "get the version of the server", names.VERSION_INFO),
    "api": ("getCoreAPIVersions", "get available API versions", names.of_message("meta/v1.APIVersions")),
    "apis": ("getAPIVersions", "get available API versions", names.of_message("meta/v1.APIGroupList")),
}


def version_3(key: str, keys: Keys, rows: Sequence[Resource], crds: Crds) -> Obj:
    """One document of OpenAPI 3."""
    about = keys[key]
    own: dict[str, Obj] = {}
    items = [_discovery(key, *about), *_paths([r for r in rows if (r.group, r.version) == about], crds, own)]
    return _document_3(items, Schemas(3, _served(rows), own), _git_version())


def version_2(keys: Keys, rows: Sequence[Resource], crds: Crds) -> Obj:
    """The one document of OpenAPI 2."""
    own: dict[str, Obj] = {}
    items = [*(_discovery(key, *about) for key, about in keys.items()), *_paths(rows, crds, own)]
    return _document_2(items, Schemas(2, _served(rows), own), _git_version())


def _served(rows: Sequence[Resource]) -> frozenset[str]:
    return frozenset(r.group_version for r in rows) | {"v1"}


def _git_version() -> str:
    return str(server_info.version()["gitVersion"])


def _paths(rows: Iterable[Resource], crds: Crds, own: dict[str, Obj]) -> Iterable[PathItem]:
    """The paths of these resources. Schemas that no table has are put into `own`."""
    for r in rows:
        if r.message and schema.has(r.message):
            item = names.of_message(r.message)
            many = names.of_message(f"{r.message}List")
            if not schema.has(f"{r.message}List"):
                own[many] = custom.of_list(r, item)
        else:
            item = names.of_kind(r.group, r.version, r.kind)
            many = names.of_kind(r.group, r.version, r.list_kind)
            own[item] = custom.of_item(r, crds.get((r.group, r.version, r.kind)))
            own[many] = custom.of_list(r, item)
        yield from operations.of_resource(r, item, many)


def _discovery(key: str, group: str, version: str) -> PathItem:
    """The path of the discovery document that a key stands for."""
    if key in _TOP:
        id, text, answer = _TOP[key]
        tag = "core" if key == "api" else key
    elif version:
        id, text = f"get{names.title(group, version)}APIResources", "get available resources"
        tag, answer = group, names.of_message("meta/v1.APIResourceList")
    else:
        id, text = f"get{names.title(group, '')}APIGroup", "get information of a group"
        tag, answer = names.tag(group, "")[:-1], names.of_message("meta/v1.APIGroup")
    types = (operations.JSON,) if key == "version" else operations.TYPES
    operation = Operation("get", id, text, produces=types, answer=answer)
    return PathItem(f"/{key}/", tag, version, operations=[operation], pretty=False)


# ---- OpenAPI 3: one document for every group version, as `kubectl apply` and `kubectl explain` read them.


def _document_3(items: Iterable[PathItem], schemas: Schemas, version: str) -> Obj:
    """A whole document of these paths and every schema they need."""

    def operation(op: Operation, out: Obj) -> Obj:
        if op.query:
            out["parameters"] = [_parameter_3(name) for name in op.query]
        if op.body:
            content = {type_: {"schema": schemas.ref(op.body)} for type_ in op.consumes}
            out["requestBody"] = {"content": content, **({"required": True} if op.body_required else {})}
        schema: Obj = schemas.ref(op.answer) if op.answer else {"type": "string"}
        answer = {type_: {"schema": schema} for type_ in op.produces}
        answers = {str(code): {"description": common.PHRASES[code], "content": answer} for code in op.codes}
        return common.with_answers(op, out, answers)

    paths = common.paths(items, operation, _parameter_3)
    return {
        "openapi": "3.0.0",
        "info": {"title": "Kubernetes", "version": version},
        "paths": paths,
        "components": {"schemas": schemas.build(), "securitySchemes": common.SECURITY_SCHEMES},
        "security": common.SECURITY,
    }


def _parameter_3(name: str) -> Obj:
    found, out = common.parameter(name)
    return {**out, "schema": {"type": found.type, "uniqueItems": True}}


# ---- OpenAPI 2 (Swagger): one document of everything, for kubectl up to 1.28 and older tools.


def _document_2(items: Iterable[PathItem], schemas: Schemas, version: str) -> Obj:
    """A whole document of these paths and every definition they need."""

    def operation(op: Operation, out: Obj) -> Obj:
        out |= {
            "produces": list(op.produces),
            "consumes": list(op.consumes) or ["*/*"],
            "schemes": ["https"],
        }
        listed = [_parameter_2(name) for name in op.query]
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
        "paths": common.paths(items, operation, _parameter_2),
        "definitions": schemas.build(),
        "securityDefinitions": common.SECURITY_SCHEMES,
        "security": common.SECURITY,
    }


def _parameter_2(name: str) -> Obj:
    found, out = common.parameter(name)
    return {**out, "type": found.type, "uniqueItems": True}
