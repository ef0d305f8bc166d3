"""The operations that each resource offers, independent of the OpenAPI dialect."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

import msgspec

from longshore.api import schema
from longshore.api.resources import Resource, Subresource
from longshore.apiserver.openapi import names

JSON: Final = "application/json"
YAML: Final = "application/yaml"
PROTOBUF: Final = "application/vnd.kubernetes.protobuf"
TYPES: Final = (JSON, YAML, PROTOBUF)
_CUSTOM_TYPES: Final = (JSON, YAML)
_STREAMS: Final = (f"{JSON};stream=watch", f"{PROTOBUF};stream=watch")
_PATCHES: Final = (
    "application/json-patch+json",
    "application/merge-patch+json",
    "application/strategic-merge-patch+json",
    "application/apply-patch+yaml",
)
_CUSTOM_PATCHES: Final = tuple(p for p in _PATCHES if "strategic" not in p)

_WRITE: Final = ("dryRun", "fieldManager", "fieldValidation")
_LIST: Final = (
    "allowWatchBookmarks",
    "continue",
    "fieldSelector",
    "labelSelector",
    "limit",
    "resourceVersion",
    "resourceVersionMatch",
    "sendInitialEvents",
    "timeoutSeconds",
    "watch",
)
_DELETE: Final = ("dryRun", "gracePeriodSeconds", "orphanDependents", "propagationPolicy")
_DELETE_COLLECTION: Final = (*(p for p in _LIST if p not in ("allowWatchBookmarks", "watch")), *_DELETE)

_STATUS: Final = "meta/v1.Status"
_CONNECTS: Final = frozenset(("attach", "exec", "portforward", "proxy"))
_METHODS: Final = {"create": "post", "delete": "delete", "get": "get", "patch": "patch", "update": "put"}
_VERBS: Final = {"get": "read", "put": "replace", "patch": "patch", "delete": "delete", "post": "create"}


class Operation(msgspec.Struct, frozen=True):
    """One method of one path. `body` and `answer` are schema names; an empty answer is plain text."""

    method: str
    id: str
    description: str
    action: str = ""
    gvk: tuple[str, str, str] | None = None
    query: tuple[str, ...] = ()
    body: str = ""
    consumes: tuple[str, ...] = ()
    produces: tuple[str, ...] = TYPES
    answer: str = ""
    codes: tuple[int, ...] = (200,)
    body_required: bool = True


class PathItem(msgspec.Struct):
    """One path with its operations. `parameters` are those in the path, `group` makes its tag."""

    path: str
    group: str
    version: str
    parameters: tuple[str, ...] = ()
    operations: list[Operation] = msgspec.field(default_factory=list)
    pretty: bool = True


def of_resource(r: Resource, item_schema: str, list_schema: str) -> Iterable[PathItem]:
    """The paths of a resource. The schema names are those of its kind and of its kind's list."""
    base = f"/apis/{r.group}/{r.version}" if r.group else f"/api/{r.version}"
    title, own = names.title(r.group, r.version), _Kind(r, item_schema, list_schema)
    middle, scope = f"{base}/{r.plural}", ""
    parameters: tuple[str, ...] = ()
    if r.namespaced:
        if "list" in r.verbs:
            across = PathItem(f"{base}/{r.plural}", r.group, r.version)
            across.operations.append(own.list(f"list{title}{r.kind}ForAllNamespaces"))
            yield across
        middle, scope = f"{base}/namespaces/{{namespace}}/{r.plural}", "Namespaced"
        parameters = ("namespace",)
    collection = PathItem(middle, r.group, r.version, parameters)
    collection.operations += own.collection(title, f"{scope}{r.kind}")
    if collection.operations:
        yield collection
    item = PathItem(f"{middle}/{{name}}", r.group, r.version, ("name", *parameters))
    item.operations += own.item(title, f"{scope}{r.kind}")
    if item.operations:
        yield item
    for sub in sorted(r.subresources.values(), key=lambda s: s.name):
        below = PathItem(f"{item.path}/{sub.name}", r.group, r.version, ("name", *parameters))
        below.operations += own.subresource(
            sub, title, f"{scope}{r.kind}{sub.name[:1].upper()}{sub.name[1:]}"
        )
        yield below


class _Kind:
    """The operations of one kind."""

    def __init__(self, r: Resource, item_schema: str, list_schema: str) -> None:
        self._r = r
        self._item = item_schema
        self._list = list_schema
        self._gvk = (r.group, r.version, r.kind)
        custom = r.style == "custom"
        self._types = _CUSTOM_TYPES if custom else TYPES
        self._patches = _CUSTOM_PATCHES if custom else _PATCHES

    def list(self, id: str) -> Operation:
        types = self._types if self._r.style == "custom" else (*self._types, *_STREAMS)
        text = f"list or watch objects of kind {self._r.kind}"
        return Operation("get", id, text, "list", self._gvk, _LIST, produces=types, answer=self._list)

    def collection(self, title: str, name: str) -> Iterable[Operation]:
        verbs = self._r.verbs
        if "list" in verbs:
            yield self.list(f"list{title}{name}")
        if "create" in verbs:
            yield self._write("post", f"create{title}{name}", self._gvk, self._item, (200, 201, 202))
        if "deletecollection" in verbs:
            yield Operation(
                "delete",
                f"delete{title}Collection{name}",
                f"delete collection of {self._r.kind}",
                "deletecollection",
                self._gvk,
                _DELETE_COLLECTION,
                names.of_message("meta/v1.DeleteOptions"),
                self._types,
                self._types,
                names.of_message(_STATUS),
                body_required=False,
            )

    def item(self, title: str, name: str) -> Iterable[Operation]:
        for verb in ("get", "update", "patch", "delete"):
            if verb in self._r.verbs:
                yield self._one(_METHODS[verb], title, name, "")

    def _one(self, method: str, title: str, name: str, of: str) -> Operation:
        """A method on an object, or on the subresource that `of` names."""
        id, kind = f"{_VERBS[method]}{title}{name}", self._r.kind
        match method:
            case "get":
                return Operation(
                    "get",
                    id,
                    f"read {of}the specified {kind}",
                    "get",
                    self._gvk,
                    produces=self._types,
                    answer=self._item,
                )
            case "put":
                return self._write("put", id, self._gvk, self._item, (200, 201), of)
            case "patch":
                return Operation(
                    "patch",
                    id,
                    f"partially update {of}the specified {kind}",
                    "patch",
                    self._gvk,
                    (*_WRITE, "force"),
                    names.PATCH,
                    self._patches,
                    self._types,
                    self._item,
                    (200, 201),
                )
        answer = self._item if self._r.strategy.delete_answers_object else names.of_message(_STATUS)
        return Operation(
            "delete",
            id,
            f"delete a {kind}",
            "delete",
            self._gvk,
            _DELETE,
            names.of_message("meta/v1.DeleteOptions"),
            self._types,
            self._types,
            answer,
            (200, 202),
            body_required=False,
        )

    def _write(
        self,
        method: str,
        id: str,
        gvk: tuple[str, str, str],
        body: str,
        codes: tuple[int, ...],
        of: str = "",
    ) -> Operation:
        what = f"create {of or 'a '}{gvk[2]}" if method == "post" else f"replace {of}the specified {gvk[2]}"
        return Operation(method, id, what, method, gvk, _WRITE, body, self._types, self._types, body, codes)

    def subresource(self, sub: Subresource, title: str, name: str) -> Iterable[Operation]:
        if sub.name in _CONNECTS:
            yield from self._connect(sub, title, name)
            return
        if sub.name == "log":
            yield Operation(
                "get",
                f"read{title}{name}",
                f"read log of the specified {self._r.kind}",
                "get",
                self._gvk,
                _options("v1", "PodLogOptions"),
                produces=("text/plain", *self._types),
            )
            return
        group_version = sub.group_version or self._r.group_version
        group, _, version = group_version.rpartition("/")
        message = schema.message_for(group_version, sub.kind)
        body = names.of_message(message) if message and sub.kind != self._r.kind else self._item
        for verb in ("get", "create", "update", "patch"):
            if verb not in sub.verbs:
                continue
            method = _METHODS[verb]
            if method == "post":
                gvk = (group, version, sub.kind)
                yield self._write(
                    "post", f"create{title}{name}", gvk, body, (200, 201, 202), f"{sub.name} of a "
                )
            else:
                yield self._one(method, title, name, f"{sub.name} of ")

    def _connect(self, sub: Subresource, title: str, name: str) -> Iterable[Operation]:
        query = _options(self._r.group_version, sub.kind)
        for verb in sub.verbs:
            method = _METHODS[verb]
            yield Operation(
                method,
                f"connect{title}{method.capitalize()}{name}",
                f"connect {method.upper()} requests to {sub.name} of {self._r.kind}",
                "connect",
                (self._r.group, self._r.version, sub.kind),
                query,
                produces=("*/*",),
            )


def _options(group_version: str, kind: str) -> tuple[str, ...]:
    """The query parameters that the fields of an options kind such as PodExecOptions stand for."""
    message = schema.message_for(group_version, kind)
    return tuple(f"{message}:{field}" for field in schema.message(message).fields) if message else ()
