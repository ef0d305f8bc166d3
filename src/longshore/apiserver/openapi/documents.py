"""All OpenAPI documents of a server, each built when first asked for.

A document is kept until the rows of the resource table change. The index of version 3 names every
document with a hash of what it is made from, so that listing them builds none.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Final

from longshore.api import schema
from longshore.api.errors import StatusError
from longshore.api.resources import Resource
from longshore.api.types import Obj, encode
from longshore.apiserver import meta_endpoints
from longshore.apiserver.discovery import groups, versions
from longshore.apiserver.document import Document
from longshore.apiserver.openapi import custom, gnostic, names, operations, v2, v3
from longshore.apiserver.openapi.operations import Operation, PathItem
from longshore.apiserver.openapi.schemas import Schemas

CrdSchemas = Callable[[], Mapping[tuple[str, str, str], Obj]]
"""The openAPIV3Schema of each custom resource, by group, version and kind."""

JSON: Final = "application/json"
PROTOBUF_2: Final = "application/com.github.proto-openapi.spec.v2@v1.0+protobuf"
# Media types may hold no "@", so the answer's type differs from the one asked for.
_PROTOBUF_2_ANSWER: Final = "application/com.github.proto-openapi.spec.v2.v1.0+protobuf"
_VARY: Final = {"Vary": "Accept"}
_FOREVER: Final = {"Vary": "Accept", "Cache-Control": "public, immutable, max-age=31536000"}


class Documents:
    """Finds OpenAPI documents by path."""

    def __init__(self, resources: Callable[[], Sequence[Resource]], crd_schemas: CrdSchemas) -> None:
        self._resources = resources
        self._crd_schemas = crd_schemas
        self._rows: Sequence[Resource] = ()
        self._kept: dict[str, Document] = {}
        self._hashes: dict[str, str] = {}

    def find(self, path: str, accept: str | None, wanted_hash: str = "") -> Document | None:
        """The document at a path below `/openapi/`; None where there is none, 406 for an unknown form.

        `wanted_hash` is the client's `hash` parameter: a document asked for by its current hash may be
        cached for ever.
        """
        self._refresh()
        path = path.strip("/")
        if path == "openapi/v2":
            return self._version_2(_media_type(accept, (JSON, PROTOBUF_2)))
        if path == "openapi/v3":
            return self._index()
        key = path.removeprefix("openapi/v3/")
        if key == path or key not in self._keys():
            return None
        _media_type(accept, (JSON,))
        if key not in self._kept:
            self._kept[key] = Document(self._version_3(key), JSON, _VARY)
        found = self._kept[key]
        if wanted_hash and wanted_hash == self._hash(key):
            return found.with_headers(_FOREVER)
        return found

    def _refresh(self) -> None:
        rows = self._resources()
        if rows is not self._rows:
            self._rows = rows
            self._kept.clear()
            self._hashes.clear()

    def _index(self) -> Document:
        if "" not in self._kept:
            paths = {
                key: {"serverRelativeURL": f"/openapi/v3/{key}?hash={self._hash(key)}"}
                for key in self._keys()
            }
            # Kubernetes leaves the type to its HTTP library, which takes the index for text.
            self._kept[""] = Document({"paths": paths}, "text/plain; charset=utf-8", _VARY)
        return self._kept[""]

    def _keys(self) -> dict[str, tuple[str, str]]:
        """The documents of version 3: their key in the index, and the group and version they are about."""
        found = {"api": ("", ""), "apis": ("", ""), "version": ("", "")}
        for group in groups(self._rows):
            if group:
                found[f"apis/{group}"] = (group, "")
            for version in versions(self._rows, group):
                found[f"apis/{group}/{version}" if group else f"api/{version}"] = (group, version)
        return dict(sorted(found.items()))

    def _hash(self, key: str) -> str:
        if key not in self._hashes:
            group, version = self._keys()[key]
            digest = hashlib.sha256(_fingerprint())
            digest.update(key.encode())
            for r in self._of(group, version):
                about = (r.kind, r.plural, r.namespaced, r.verbs, r.style, sorted(r.subresources))
                digest.update(repr(about).encode())
                digest.update(encode(self._crd_schemas().get((group, version, r.kind))))
            self._hashes[key] = digest.hexdigest().upper()
        return self._hashes[key]

    def _of(self, group: str, version: str) -> list[Resource]:
        return [r for r in self._rows if (r.group, r.version) == (group, version)] if version else []

    def _version_3(self, key: str) -> Obj:
        group, version = self._keys()[key]
        own: dict[str, Obj] = {}
        items = [*self._about(key), *self._paths(self._of(group, version), own)]
        schemas = Schemas(3, self._served(), own)
        return v3.document(items, schemas, _git_version())

    def _version_2(self, media_type: str) -> Document:
        key = f"2 {media_type}"
        if key not in self._kept:
            if media_type == PROTOBUF_2:
                body = gnostic.encode(self._version_2(JSON).obj)
                self._kept[key] = Document({}, _PROTOBUF_2_ANSWER, _VARY, body=body)
            else:
                own: dict[str, Obj] = {}
                items = [item for k in self._keys() for item in self._about(k)]
                items += self._paths(self._rows, own)
                self._kept[key] = Document(
                    v2.document(items, Schemas(2, self._served(), own), _git_version()), JSON, _VARY
                )
        return self._kept[key]

    def _served(self) -> frozenset[str]:
        return frozenset(r.group_version for r in self._rows) | {"v1"}

    def _paths(self, rows: Iterable[Resource], own: dict[str, Obj]) -> Iterable[PathItem]:
        """The paths of these resources. Schemas that no table has are put into `own`."""
        crds = self._crd_schemas()
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

    def _about(self, key: str) -> list[PathItem]:
        """The path of the discovery document that a key stands for."""
        group, version = self._keys()[key]
        match key, group, version:
            case "version", _, _:
                op = Operation("get", "getCodeVersion", "get the version of the server")
                return [_informative("/version/", "version", "", op, names.VERSION_INFO)]
            case "api", _, _:
                op = Operation("get", "getCoreAPIVersions", "get available API versions")
                return [_informative("/api/", "core", "", op, names.of_message("meta/v1.APIVersions"))]
            case "apis", _, _:
                op = Operation("get", "getAPIVersions", "get available API versions")
                return [_informative("/apis/", "apis", "", op, names.of_message("meta/v1.APIGroupList"))]
            case _, _, "":
                op = Operation("get", f"get{names.title(group, '')}APIGroup", "get information of a group")
                answer = names.of_message("meta/v1.APIGroup")
                return [_informative(f"/{key}/", names.tag(group, "")[:-1], "", op, answer)]
        op = Operation("get", f"get{names.title(group, version)}APIResources", "get available resources")
        return [_informative(f"/{key}/", group, version, op, names.of_message("meta/v1.APIResourceList"))]


def _informative(path: str, group: str, version: str, op: Operation, answer: str) -> PathItem:
    types = ("application/json",) if path == "/version/" else op.produces
    complete = Operation(op.method, op.id, op.description, produces=types, answer=answer)
    return PathItem(path, group, version, operations=[complete], pretty=False)


def _git_version() -> str:
    return str(meta_endpoints.version()["gitVersion"])


def _media_type(accept: str | None, offered: tuple[str, ...]) -> str:
    """The first offered type that the header names; 406 when it names none."""
    for clause in (accept or "*/*").split(","):
        wanted = clause.partition(";")[0].strip()
        for each in offered:
            if wanted in (each, "*/*", "application/*"):
                return each
    text = f"only the following media types are accepted: {', '.join(offered)}"
    raise StatusError(406, "NotAcceptable", text)


@cache
def _fingerprint() -> bytes:
    """Of everything that shapes documents besides the rows: this package and the tables it reads."""
    digest = hashlib.sha256()
    for folder in (Path(__file__).parent, Path(schema.__file__).parent / "data"):
        for file in sorted(folder.glob("*.*")):
            digest.update(file.name.encode())
            digest.update(file.read_bytes())
    return digest.digest()
