"""A client that costs next to nothing: requests and watches over TLS connections that are kept open.

It shares the machine with the server it measures, so it does no more than any client must: it sends whole
requests, waits for each answer, reads every line of a watch and decodes of it what its caller looks at. Only
what `jobs.py` asks of a client is there.
"""

from __future__ import annotations

import asyncio
import ssl
from collections import deque
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, TypedDict, cast

import msgspec

_PATHS = {"Job": "/apis/batch/v1", "Pod": "/api/v1", "ConfigMap": "/api/v1"}
_WATCH = "watch=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true"


class _Metadata(TypedDict, total=False):
    name: str


class _Status(TypedDict, total=False):
    completionTime: str


class _Object(TypedDict, total=False):
    metadata: _Metadata
    status: _Status


class Event(msgspec.Struct):
    """A line of a watch, as far as anybody looks at it."""

    type: str
    object: _Object


_decode = msgspec.json.Decoder(Event).decode


class Lanes:
    """So many connections to one server, each with one request at a time."""

    def __init__(self, port: int, ca: Path, token: str) -> None:
        self._port = port
        self._tls = ssl.create_default_context(cafile=ca)
        self._head = (
            f"Host: localhost\r\nAuthorization: Bearer {token}\r\n"
            "User-Agent: bench/1\r\nAccept: application/json\r\n"
        )
        self._idle: list[_Lane] = []
        self._waiting: deque[tuple[bytes, asyncio.Future[None]]] = deque()

    async def open(self, connections: int) -> None:
        for _ in range(connections):
            await self._connect(_Lane(self))

    async def create(self, what: tuple[str, str], obj: Mapping[str, Any], namespace: str) -> None:
        api_version, kind = what
        typed = {"apiVersion": api_version, "kind": kind, **obj}
        await self._send("POST", _path(kind, namespace), "application/json", typed)

    async def patch(
        self,
        what: tuple[str, str],
        name: str,
        patch: Mapping[str, Any],
        namespace: str,
        *,
        subresource: str = "",
    ) -> None:
        path = f"{_path(what[1], namespace)}/{name}{'/' * bool(subresource)}{subresource}"
        await self._send("PATCH", path, "application/merge-patch+json", patch)

    @asynccontextmanager
    async def watch(
        self, what: tuple[str, str], namespace: str, *, initial_events: bool
    ) -> AsyncIterator[AsyncIterator[Event]]:
        """All there is, a bookmark, and then what happens."""
        assert initial_events, "there is no other way to know when it has begun"
        reader = asyncio.StreamReader(1 << 24)
        transport = await self._connect(asyncio.StreamReaderProtocol(reader))
        request = f"GET {_path(what[1], namespace)}?{_WATCH} HTTP/1.1\r\n{self._head}\r\n"
        transport.write(request.encode())
        head = await reader.readuntil(b"\r\n\r\n")
        assert head.startswith(b"HTTP/1.1 200"), head
        try:
            yield _events(reader)
        finally:
            transport.abort()

    async def _send(self, method: str, path: str, media_type: str, obj: Mapping[str, Any]) -> None:
        body = msgspec.json.encode(obj)
        lines = f"{self._head}Content-Type: {media_type}\r\nContent-Length: {len(body)}\r\n"
        request = f"{method} {path} HTTP/1.1\r\n{lines}\r\n".encode() + body
        done: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.append((request, done))
        if self._idle:
            self.freed(self._idle.pop())
        await done

    def freed(self, lane: _Lane) -> None:
        """Gives a lane its next request."""
        if self._waiting:
            lane.send(*self._waiting.popleft())
        else:
            self._idle.append(lane)

    async def _connect(self, protocol: asyncio.Protocol) -> asyncio.Transport:
        loop = asyncio.get_running_loop()
        made = await loop.create_connection(lambda: protocol, "127.0.0.1", self._port, ssl=self._tls)
        return made[0]

    def close(self) -> None:
        for lane in self._idle:
            lane.close()


class _Lane(asyncio.Protocol):
    """One connection: a request, its answer, the next."""

    def __init__(self, lanes: Lanes) -> None:
        self._lanes = lanes
        self._buffer = b""
        self._done: asyncio.Future[None] | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)
        self._lanes.freed(self)

    def send(self, request: bytes, done: asyncio.Future[None]) -> None:
        self._done = done
        self._transport.write(request)

    def data_received(self, data: bytes) -> None:
        self._buffer += data
        head = self._buffer.find(b"\r\n\r\n")
        if head < 0:
            return
        at = self._buffer.index(b"Content-Length: ") + 16
        if len(self._buffer) < head + 4 + int(self._buffer[at : self._buffer.index(b"\r\n", at)]):
            return
        answer, self._buffer = self._buffer, b""
        done, self._done = self._done, None
        assert done is not None
        if answer.startswith(b"HTTP/1.1 20"):
            done.set_result(None)
        else:
            done.set_exception(RuntimeError(answer[:2000].decode()))
        self._lanes.freed(self)

    def connection_lost(self, exc: Exception | None) -> None:
        if self._done is not None and not self._done.done():
            self._done.set_exception(exc or RuntimeError("the server closed the connection"))

    def close(self) -> None:
        self._transport.abort()


async def _events(reader: asyncio.StreamReader) -> AsyncIterator[Event]:
    """The lines of a body that comes in chunks. A chunk of the server has whole lines."""
    while size := int(await reader.readuntil(b"\r\n"), 16):
        chunk = await reader.readexactly(size + 2)
        for line in chunk.splitlines():
            if line:
                yield _decode(line)


def _path(kind: str, namespace: str) -> str:
    return f"{_PATHS[kind]}/namespaces/{namespace}/{kind.lower()}s"
