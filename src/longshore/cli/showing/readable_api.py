"""Reads objects of a server for a story. A kind that the server does not know has no objects."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from longshore.api.errors import StatusError
from longshore.api.types import Obj
from longshore.cli.server.requests import escaped

if TYPE_CHECKING:
    from longshore.cli.server.requests import Server
    from longshore.why.kinds import Kind


class ReadableApi:
    """A `why.observe.Api` over the network."""

    def __init__(self, server: Server) -> None:
        self._server = server

    def get(self, kind: Kind, namespace: str, name: str) -> Obj | None:
        return self._read(f"{_path(kind, namespace)}/{escaped(name)}")

    def list(self, kind: Kind, namespace: str) -> Sequence[Obj]:
        try:
            return _items(self._read(_path(kind, namespace)))
        except StatusError as err:
            if err.code == 403 and not namespace:  # nodes and other namespaces only add to a story
                return ()
            raise

    def events(self, namespace: str, kind: str, name: str) -> Sequence[Obj]:
        wanted = f"involvedObject.kind={kind},involvedObject.name={name}"
        return _items(self._read(f"/api/v1/namespaces/{namespace}/events", fieldSelector=wanted))

    def _read(self, path: str, **query: str) -> Obj | None:
        try:
            return self._server.json("GET", path, query=query)
        except StatusError as err:
            if err.code == 404:
                return None
            raise


def _path(kind: Kind, namespace: str) -> str:
    return f"{kind.root}/namespaces/{namespace}/{kind.plural}" if namespace else f"{kind.root}/{kind.plural}"


def _items(found: Obj | None) -> Sequence[Obj]:
    items: Sequence[Obj] = found["items"] if found is not None else ()
    return items
