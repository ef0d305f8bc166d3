"""`HttpClient`: the client protocol over HTTPS, against any Kubernetes.

Built-in kinds are known from the table and need no request; other kinds are looked up once in the server's
discovery. Speaks JSON only.
"""

from __future__ import annotations

import asyncio
import builtins
import os
import random
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import aclosing, asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Final, Self, TypeVar
from urllib.parse import quote

from longshore.api.errors import StatusError
from longshore.api.facts import kinds
from longshore.api.facts.kinds import Kind
from longshore.api.resources import Resource
from longshore.api.types import Obj
from longshore.client.ask import Ask, Page, built_in, untyped
from longshore.client.client import Client
from longshore.client.config.connection import Connection, from_kubeconfig
from longshore.client.http import answers, compact_objects, discovery, watch_stream
from longshore.client.http.asyncio_driver import HttpConnection
from longshore.client.http.transport import Transport
from longshore.client.projection import WHOLE, Line, Listed, Projection
from longshore.client.protocol import Only, Request, Response, What
from longshore.client.source import Entry, Unpacked, Watching

_JSON: Final = {"Accept": "application/json"}
_PROJECTED_WRITES: Final = frozenset(("create", "patch", "update"))
"""Verbs whose answers are projected. A get is not: its caller may write the whole object back."""
_MIN_WATCH_SECONDS: Final = 300
"""Watches end by themselves after 5 to 10 minutes, spread so that a restart does not synchronise them."""
_LATE_SECONDS: Final = 30.0
_SILENT_SECONDS: Final = 90.0
"""Servers send a bookmark every minute. A watch with bookmarks that receives nothing for longer is dead."""


T = TypeVar("T")


class HttpClient(Client):
    """A client for one server and one user. `namespace` is the kubeconfig context's, for commands."""

    def __init__(
        self,
        connection: Connection,
        *,
        manager: str = "longshore",
        seconds: float = 65.0,
        dice: random.Random | None = None,
        fence: Callable[[], None] | None = None,
        reads: Mapping[Kind, Projection] | None = None,
        shortcuts: bool = True,
        only: Only | None = None,
        pace: Callable[[], float] | None = None,
        environ: Mapping[str, str] = os.environ,
        sleep: Callable[[float], Awaitable[object]] = asyncio.sleep,
    ) -> None:
        """`seconds` limits a request with all its retries: a little more than the server's own minute.
        `fence` is called right before each write is sent; an error it raises goes to the caller instead.
        `reads` has the projections of this process by kind, for the answers to its writes. Without
        `shortcuts` objects are read and kept whole. Objects in namespaces that `only` refuses are
        left out of lists and watches. `pace` is called before each request and returns the seconds to
        wait."""
        super().__init__(manager)
        self.namespace = connection.namespace
        self._transport = Transport(
            connection, agent=manager, environ=environ, sleep=sleep, fence=fence, pace=pace
        )
        self._seconds, self._reads, self._only = seconds, reads or {}, only
        self._shortcuts, self._parts = shortcuts, compact_objects.SharedParts()
        self._dice = dice or random.Random()
        self._found: dict[tuple[str, str], Resource] = {}

    @classmethod
    def from_kubeconfig(
        cls, path: Path | None = None, context: str = "", *, manager: str = "longshore"
    ) -> Self:
        """A client for the context kubectl would use; see `client.config`."""
        return cls(from_kubeconfig(path, context), manager=manager)

    async def resource(self, what: What) -> Resource:
        if isinstance(what, Resource):
            return what
        known = self._found.get(what)
        if known is None:
            known = built_in(*what) or await discovery.find(self._document, *what)
            self._found[what] = known
        return known

    async def resources(self) -> builtins.list[Resource]:
        return await discovery.everything(self._document, self._groups)

    async def _answer(self, request: Request) -> Response:
        return await self._transport.send(request, seconds=self._seconds, retry=False)

    @asynccontextmanager
    async def log(
        self, pod: str, namespace: str, query: Mapping[str, str]
    ) -> AsyncIterator[AsyncIterator[bytes]]:
        path = f"/api/v1/namespaces/{_escaped(namespace)}/pods/{_escaped(pod)}/log"
        opened = self._transport.open(path, query=query, headers={"Accept": "*/*"}, seconds=self._seconds)
        async with opened as response:
            if response.reader.code >= 400:
                raise await _refusal(response)
            yield aiter(response)

    def entry(self, resource: Resource, obj: Obj) -> Entry:
        if not self._shortcuts:
            return Unpacked(obj)
        if resource.qualified == "pods" and kinds.PODS in self._reads:
            return compact_objects.PodEntry(obj)
        return compact_objects.JsonEntry(obj)

    async def close(self) -> None:
        await self._transport.close()

    async def _one(self, ask: Ask) -> Obj:
        reads = self._projection(ask)
        return self._tidied(ask, reads, await self._read(ask, reads.one))

    async def _page(self, ask: Ask) -> Page:
        reads, only = self._projection(ask), self._only
        read: Callable[[bytes], Listed[Obj]] = reads.page
        if only is not None:
            read = partial(watch_stream.wanted_page, only=only, read=reads.one)
        answer = await self._read(ask, read)
        if answer.kind == "Status":  # some servers answer a deletecollection like this
            return Page([], "")
        meta = answer.metadata or {}
        items = [self._tidied(ask, reads, item) for item in answer.items or ()]
        return Page(items, meta.get("resourceVersion") or "", meta.get("continue") or "")

    @asynccontextmanager
    async def _events(self, ask: Ask) -> AsyncIterator[Watching]:
        lasting = int(ask.query.get("timeoutSeconds", 0)) or round(
            _MIN_WATCH_SECONDS * (1 + self._dice.random())
        )
        query = ask.query | {"timeoutSeconds": str(lasting)}
        most = lasting + _LATE_SECONDS
        silent = _SILENT_SECONDS if "allowWatchBookmarks" in query else None
        opened = self._transport.open(_path_of(ask), query=query, headers=_JSON, seconds=self._seconds)
        async with opened as response:
            if response.reader.code != 200:
                raise await _refusal(response)
            reads = self._projection(ask)

            def read(line: bytes) -> Line[Obj]:
                found = reads.line(line)
                if found.type != "ERROR":
                    self._tidied(ask, reads, found.object)
                return found

            events = watch_stream.events(
                response, ask.resource, seconds=most, silent=silent, read=read, only=self._only
            )
            async with aclosing(events):
                yield Watching(events, partial(self.entry, ask.resource))

    def _projection(self, ask: Ask) -> Projection:
        """The fields to decode of the objects in an answer."""
        if not self._shortcuts or ask.verb in ("list", "watch"):
            return ask.reads if self._shortcuts else WHOLE
        # Of all subresources, only status is an object of the same kind.
        if ask.verb in _PROJECTED_WRITES and ask.subresource in ("", "status"):
            return self._reads.get((ask.resource.group_version, ask.resource.kind), WHOLE)
        return WHOLE

    def _tidied(self, ask: Ask, reads: Projection, obj: Obj) -> Obj:
        if reads is not WHOLE and ask.resource.qualified == "pods":
            self._parts.share(obj)
        return untyped(ask.resource, obj)

    async def _read(self, ask: Ask, read: Callable[[bytes], T]) -> T:
        body = ask.body()
        headers = _JSON | {"Content-Type": ask.content_type} if body else _JSON
        request = Request(_METHODS[ask.verb], _path_of(ask), ask.query, body, headers)
        return answers.document(await self._transport.send(request, seconds=self._seconds), read)

    async def _groups(self, path: str) -> Obj:
        """The document of all API groups, with their resources if the server can list them there."""
        return await self._document(path, {"Accept": discovery.AGGREGATED})

    async def _document(self, path: str, headers: Mapping[str, str] = _JSON) -> Obj:
        """A discovery document; an empty one when the server does not have it."""
        response = await self._transport.send(Request("GET", path, headers=headers), seconds=self._seconds)
        try:
            return answers.document(response, answers.obj)
        except StatusError as err:
            if err.code == 404:
                return {}
            raise


async def _refusal(stream: HttpConnection) -> StatusError:
    return answers.error(stream.reader.code, await stream.read_all(), stream.reader.headers)


_METHODS: Final = {
    "get": "GET",
    "list": "GET",
    "watch": "GET",
    "create": "POST",
    "update": "PUT",
    "patch": "PATCH",
    "delete": "DELETE",
    "deletecollection": "DELETE",
}


def _path_of(ask: Ask) -> str:
    """`/apis/batch/v1/namespaces/default/jobs/x/status`, each part escaped."""
    resource = ask.resource
    parts = ["/apis", resource.group] if resource.group else ["/api"]
    parts.append(resource.version)
    if resource.namespaced and ask.namespace:
        parts += ["namespaces", _escaped(ask.namespace)]
    parts.append(resource.plural)
    if ask.name:
        parts.append(_escaped(ask.name))
        if ask.subresource:
            parts.append(ask.subresource)
    return "/".join(parts)


def _escaped(part: str) -> str:
    """One segment, escaped. A name from the command line that is not UTF-8 keeps its bytes."""
    return quote(part, safe="", errors="surrogateescape")
