"""All OpenAPI documents of a server, each built when first asked for.

A document is kept until the rows of the resource table change: a changed schema of a custom resource makes
new rows, too. The index of version 3 names every document with a hash of what it is made from, so that
listing them builds none.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Final

from longshore.api import schema
from longshore.api.errors import StatusError
from longshore.api.resources import Resource
from longshore.api.types import Obj, encode
from longshore.apiserver.documents.discovery import groups, versions
from longshore.apiserver.documents.document import Document

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
        self._keys: dict[str, tuple[str, str]] = {}
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
        if key == path or key not in self._keys:
            return None
        _media_type(accept, (JSON,))
        found = self._version_3(key)
        return found.with_headers(_FOREVER) if wanted_hash == self._hash(key) else found

    def _refresh(self) -> None:
        rows = self._resources()
        if rows is not self._rows:
            self._rows = rows
            self._keys = _keys(rows)
            self._kept.clear()
            self._hashes.clear()

    def _index(self) -> Document:
        if "" not in self._kept:
            paths = {
                key: {"serverRelativeURL": f"/openapi/v3/{key}?hash={self._hash(key)}"} for key in self._keys
            }
            # Kubernetes leaves the type to its HTTP library, which takes the index for text.
            self._kept[""] = Document({"paths": paths}, "text/plain; charset=utf-8", _VARY)
        return self._kept[""]

    def _hash(self, key: str) -> str:
        if key not in self._hashes:
            group, version = self._keys[key]
            digest = hashlib.sha256(_fingerprint())
            digest.update(key.encode())
            for r in self._rows:
                if (r.group, r.version) == (group, version):
                    about = (r.kind, r.plural, r.namespaced, r.verbs, r.style, sorted(r.subresources))
                    digest.update(repr(about).encode())
                    digest.update(encode(self._crd_schemas().get((group, version, r.kind))))
            self._hashes[key] = digest.hexdigest().upper()
        return self._hashes[key]

    def _version_3(self, key: str) -> Document:
        if key not in self._kept:
            # Most servers are never asked for these, so they are not loaded at the start.
            from longshore.apiserver.openapi import build

            obj = build.version_3(key, self._keys, self._rows, self._crd_schemas())
            self._kept[key] = Document(obj, JSON, _VARY)
        return self._kept[key]

    def _version_2(self, media_type: str) -> Document:
        if media_type not in self._kept:
            from longshore.apiserver.openapi import build, gnostic

            if media_type == JSON:
                obj = build.version_2(self._keys, self._rows, self._crd_schemas())
                self._kept[media_type] = Document(obj, JSON, _VARY)
            else:
                body = gnostic.encode(self._version_2(JSON).obj)
                self._kept[media_type] = Document({}, _PROTOBUF_2_ANSWER, _VARY, body=body)
        return self._kept[media_type]


def _keys(rows: Sequence[Resource]) -> dict[str, tuple[str, str]]:
    """The documents of version 3: their key in the index, and the group and version they are about."""
    found = {"api": ("", ""), "apis": ("", ""), "version": ("", "")}
    for group in groups(rows):
        if group:
            found[f"apis/{group}"] = (group, "")
        for version in versions(rows, group):
            found[f"apis/{group}/{version}" if group else f"api/{version}"] = (group, version)
    return dict(sorted(found.items()))


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
    """A digest of everything besides the rows that shapes documents: this package and the tables it reads."""
    digest = hashlib.sha256()
    for folder in (Path(__file__).parent, Path(schema.__file__).parent / "data"):
        for file in sorted(folder.glob("*.*")):
            digest.update(file.name.encode())
            digest.update(file.read_bytes())
    return digest.digest()
