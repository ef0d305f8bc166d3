"""An HTTP server for tests: a function answers each request, at once or piece by piece.

httptools reads the requests strictly: what is no HTTP is answered 400. A function whose client has gone is
cancelled.
"""

from __future__ import annotations

import asyncio
import json
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import httptools


@dataclass
class Reply:
    body: bytes = b""
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)


def json_reply(obj: Any, status: int = 200, headers: Mapping[str, str] | None = None) -> Reply:
    return Reply(json.dumps(obj).encode(), status, {"Content-Type": "application/json", **(headers or {})})


class Asked:
    """A request. Its answer is what the function returns, or what is written here."""

    def __init__(self, connection: _Connection) -> None:
        self._connection = connection
        self.method = ""
        self.target = ""
        """Path and query as they were sent."""
        self.headers: list[tuple[str, str]] = []
        self.body = b""

    @property
    def path(self) -> str:
        return urlsplit(self.target).path

    @property
    def query(self) -> dict[str, str]:
        return dict(parse_qsl(urlsplit(self.target).query, keep_blank_values=True))

    def header(self, name: str) -> str:
        """The value of this name; of several the first, of none the empty text."""
        return next((text for key, text in self.headers if key.lower() == name.lower()), "")

    async def begin(self, status: int = 200, headers: Mapping[str, str] | None = None) -> None:
        """Begins an answer in pieces, of which 204 and 304 have none."""
        self._connection.streams = status not in (HTTPStatus.NO_CONTENT, HTTPStatus.NOT_MODIFIED)
        pieces = {"Transfer-Encoding": "chunked"} if self._connection.streams else {}
        self._connection.send(_head(status, {**(headers or {}), **pieces}))

    async def write(self, piece: bytes) -> None:
        """Waits while the client takes nothing."""
        if piece:
            self._connection.send(b"%x\r\n%b\r\n" % (len(piece), piece))
        await self._connection.may_write.wait()

    def abort(self) -> None:
        self._connection.transport.abort()


Answerer = Callable[[Asked], Awaitable[Reply | None]]
"""Returns None after an answer in pieces, and after an abort."""


class _Connection(asyncio.Protocol):
    def __init__(self, answer: Answerer, connections: set[_Connection]) -> None:
        self._answer, self._connections = answer, connections
        self._parser = httptools.HttpRequestParser(self)
        self._asked = Asked(self)
        self.task: asyncio.Task[None] | None = None
        self.streams = False
        self.may_write = asyncio.Event()
        self.may_write.set()
        self.transport: asyncio.Transport

    def send(self, data: bytes) -> None:
        if not self.transport.is_closing():
            self.transport.write(data)

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = transport  # type: ignore[assignment] # of uvloop, and one in all it does
        self._connections.add(self)

    def connection_lost(self, exc: Exception | None) -> None:
        self._connections.discard(self)
        self.may_write.set()
        if self.task is not None:
            self.task.cancel()

    def pause_writing(self) -> None:
        self.may_write.clear()

    def resume_writing(self) -> None:
        self.may_write.set()

    def data_received(self, data: bytes) -> None:
        try:
            self._parser.feed_data(data)
        except httptools.HttpParserError:
            self.send(_head(400, {"Content-Length": "0", "Connection": "close"}))
            self.transport.close()

    def on_url(self, url: bytes) -> None:
        self._asked.target += url.decode()

    def on_header(self, name: bytes, value: bytes) -> None:
        self._asked.headers.append((name.decode(), value.decode()))

    def on_body(self, body: bytes) -> None:
        self._asked.body += body

    def on_message_complete(self) -> None:
        asked, self._asked = self._asked, Asked(self)
        asked.method = self._parser.get_method().decode()
        self.task = asyncio.get_running_loop().create_task(
            self._reply(asked, self._parser.should_keep_alive())
        )

    async def _reply(self, asked: Asked, lasts: bool) -> None:
        try:
            reply = await self._answer(asked)
        except Exception:
            self.transport.abort()
            raise
        if reply is not None:
            length = {"Content-Length": f"{len(reply.body)}"}
            self.send(_head(reply.status, {**reply.headers, **length}) + reply.body)
        elif self.streams:
            self.send(b"0\r\n\r\n")
        self.streams = False
        if not lasts:
            self.transport.close()


def _head(status: int, headers: Mapping[str, str]) -> bytes:
    fields = "".join(f"{key}: {text}\r\n" for key, text in headers.items())
    return f"HTTP/1.1 {status} {HTTPStatus(status).phrase}\r\n{fields}\r\n".encode()


@asynccontextmanager
async def serving(answer: Answerer, context: ssl.SSLContext | None = None) -> AsyncIterator[str]:
    """Serves on a free port of this machine; gives the URL."""
    connections: set[_Connection] = set()
    loop = asyncio.get_running_loop()
    server = await loop.create_server(lambda: _Connection(answer, connections), "127.0.0.1", 0, ssl=context)
    try:
        yield f"{'https' if context else 'http'}://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    finally:
        server.close()
        tasks = [each.task for each in connections if each.task is not None]
        for each in [*connections]:
            each.transport.abort()
        await asyncio.gather(*tasks, return_exceptions=True)
        await asyncio.sleep(0)  # the sockets close in the next turn of the loop
