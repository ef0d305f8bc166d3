"""Paths that are no resources: discovery, OpenAPI, version, health, metrics, the list of paths."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain, zip_longest
from typing import TYPE_CHECKING, Final
from urllib.parse import parse_qs, unquote

from longshore.api import errors
from longshore.api.resources import Resource
from longshore.apiserver.documents import server_info
from longshore.apiserver.documents.discovery import Discovery
from longshore.apiserver.documents.document import Document
from longshore.apiserver.http import respond
from longshore.apiserver.http.request import Request
from longshore.apiserver.http.response import Reply
from longshore.apiserver.openapi import Documents
from longshore.apiserver.request import router
from longshore.apiserver.request.call import User

if TYPE_CHECKING:
    from longshore.apiserver.api import Api
    from longshore.apiserver.metrics import Metrics

_NOT_FOUND: Final = "404 page not found\n"


class Endpoints:
    """Answers every path that is not a resource's."""

    def __init__(self, api: Api, metrics: Metrics) -> None:
        self._api = api
        self._metrics = metrics
        self._served: tuple[Sequence[Resource], ...] = ()
        self._all: Sequence[Resource] = ()
        self._discovery = Discovery(self._resources)
        self._openapi = Documents(api.catalog.resources, api.catalog.crd_schemas)
        self._version = Document(server_info.version())
        self._checks: dict[str, server_info.Check] = {"ping": lambda: True}
        self._ready_checks = {**self._checks, "journal": lambda: api.store.missing_file is None}

    def answer(self, request: Request, user: User) -> Reply:
        """The document at the path of the request, or upstream's plain 404."""
        raw_path, _, raw_query = request.target.partition("?")
        path = unquote(raw_path)
        self._api.authorizer.check_path(user, request.method.lower(), path)
        found = self._find(request, path, raw_query)
        if found is None:
            return respond.text(404, _NOT_FOUND)
        if request.method != "GET":
            raise errors.method_not_allowed()
        return found

    def _resources(self) -> Sequence[Resource]:
        """Rows for discovery: those of the catalog, and those of documents that are made on request."""
        served = (self._api.catalog.resources(), self._api.made.rows)
        if any(now is not before for now, before in zip_longest(served, self._served)):
            # The same tuple until a row changes, since callers cache what they make of it.
            self._served, self._all = served, tuple(chain(*served))
        return self._all

    def _find(self, request: Request, path: str, raw_query: str) -> Reply | None:
        bare = path.rstrip("/") or "/"
        accept = request.headers.get("accept")
        if bare == "/version":
            return respond.document(request, self._version)
        if bare.startswith(("/healthz", "/livez", "/readyz")):
            return self._health(bare, raw_query)
        if bare == "/":
            paths = server_info.root_paths(self._api.catalog.resources(), self._checks)
            return respond.document(request, Document(paths))
        if bare == "/metrics":
            return respond.text(200, self._metrics.text(self._api.plane.collectors).decode())
        if bare == "/api" or bare.startswith(("/api/", "/apis")):
            found = self._discovery.find(bare, accept, request.headers.get("host", ""))
            if found is None and self._is_below_group(bare):
                raise router.missing()
            return respond.document(request, *found) if found is not None else None
        if bare.startswith("/openapi/"):
            spec = self._openapi.find(bare, accept, parse_qs(raw_query).get("hash", [""])[0])
            return respond.document(request, spec) if spec is not None else Reply(404, "", b"")
        for prefix, page in self._api.pages.items():
            if bare.startswith(prefix):
                made = page(bare.removeprefix(prefix))
                return respond.document(request, Document(made)) if made is not None else None
        return None

    def _is_below_group(self, path: str) -> bool:
        """Whether a path without a document belongs to a served group, which then lacks that version."""
        first, _, rest = path.strip("/").partition("/")
        group = rest.partition("/")[0] if first == "apis" else ""
        return any(row.group == group for row in self._resources())

    def _health(self, path: str, raw_query: str) -> Reply | None:
        query = parse_qs(raw_query, keep_blank_values=True)
        # If the journal is gone, a restart would lose the objects in memory, so the process counts as alive.
        checks = self._ready_checks if path.startswith("/readyz") else self._checks
        found = server_info.health(path, checks, verbose="verbose" in query, exclude=query.get("exclude", ()))
        return respond.text(*found) if found is not None else None
