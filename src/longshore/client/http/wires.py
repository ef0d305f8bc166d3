"""Connections to one server for requests with short answers: written and read without a framework between.

A request costs a third of what it costs through aiohttp (bench/outside.py), and a controller sends thousands.
Knows nothing of retries, credentials and proxies, and reads no streams; see transport.py.
"""

from __future__ import annotations

import asyncio
import re
import ssl
import zlib
from collections import deque
from collections.abc import Callable, Iterable
from typing import Final, TypeAlias
from urllib.parse import urlsplit

import httptools

from longshore.client.http.connector import keep_alive
from longshore.client.protocol import Response

IDLE_SECONDS: Final = 15.0
"""A connection that was idle for longer is not used again: the server may be about to close it."""
_GZIP: Final = 16 + zlib.MAX_WBITS
_UNSAFE: Final = re.compile(r"[\x00-\x20\x7f]")
"""Characters that a target never has. A name with a line break in it must not become another header."""
Headers: TypeAlias = Iterable[tuple[str, str]]
"""A name may come several times."""
_FRAMES: Final = ("content-length", "transfer-encoding")


class NoConnection(Exception):
    """The server cannot be connected to."""


class ConnectingTimedOut(Exception):
    """No connection was made in time."""


class BrokenOff(Exception):
    """The connection ended before the answer did."""


class Wires:
    """All connections to one server, no more than a limit; who needs one more waits."""

    def __init__(
        self, base: str, context: ssl.SSLContext | None, *, name: str, limit: int, seconds: float
    ) -> None:
        """`name` is whom the certificate must be for, instead of the host; `limit` is of connections, and
        `seconds` of the time that making one may take."""
        parts = urlsplit(base)
        self._host, self._port = parts.hostname or "", parts.port or (443 if context else 80)
        self._context, self._name = context, (name or self._host) if context else None
        self._limit, self._seconds = limit, seconds
        host = f"[{self._host}]" if ":" in self._host else self._host
        self._authority = f"{host}:{parts.port}" if parts.port else host
        self._idle: list[Wire] = []
        self._open: set[Wire] = set()
        self._making = 0
        self._waiting: deque[asyncio.Future[None]] = deque()

    async def send(
        self, method: str, target: str, headers: Headers, body: bytes, fence: Callable[[], None] | None
    ) -> Response:
        """One request and its answer. `fence` is asked when nothing can delay the request any more. Raises
        `NoConnection`, `ConnectingTimedOut` or `BrokenOff`."""
        head = self._head(method, target, headers, body)
        wire = await self._take()
        try:
            if fence is not None:
                fence()
        except BaseException:
            self._give_back(wire)
            raise
        try:
            answer = await wire.ask(head + body)
        except BaseException:
            wire.abort()
            self._drop(wire)
            raise
        if wire.lasts:
            self._give_back(wire)
        else:
            wire.abort()
            self._drop(wire)
        return answer

    def close(self) -> None:
        for wire in [*self._open]:
            wire.abort()
        self._idle.clear()

    def _head(self, method: str, target: str, headers: Headers, body: bytes) -> bytes:
        if _UNSAFE.search(target):
            raise ValueError(f"{target!r} cannot be asked for: it has spaces or control characters")
        lines = [f"{method} {target} HTTP/1.1", f"Host: {self._authority}"]
        for name, value in headers:
            if "\n" in value or "\r" in value or "\0" in value:
                raise ValueError(f"header {name} has a line break: {value!r}")
            lines.append(f"{name}: {value}")
        if body or method != "GET":
            lines.append(f"Content-Length: {len(body)}")
        return ("\r\n".join(lines) + "\r\n\r\n").encode("utf-8", "surrogateescape")

    async def _take(self) -> Wire:
        while True:
            now = asyncio.get_running_loop().time()
            while self._idle:
                wire = self._idle.pop()
                if not wire.is_gone and now - wire.idle_since <= IDLE_SECONDS:
                    return wire
                wire.abort()
                self._drop(wire)
            if len(self._open) + self._making < self._limit:
                return await self._make()
            turn = asyncio.get_running_loop().create_future()
            self._waiting.append(turn)
            try:
                await turn
            except BaseException:
                if turn.done() and not turn.cancelled():
                    self._next()  # somebody else's turn
                elif turn in self._waiting:
                    self._waiting.remove(turn)
                raise

    async def _make(self) -> Wire:
        self._making += 1
        made = False
        loop = asyncio.get_running_loop()
        try:
            async with asyncio.timeout(self._seconds):
                transport, wire = await loop.create_connection(
                    lambda: Wire(self._lost),
                    self._host,
                    self._port,
                    ssl=self._context,
                    server_hostname=self._name,
                )
            made = True
        except TimeoutError as err:
            raise ConnectingTimedOut from err
        except OSError as err:
            raise NoConnection(_reason(err)) from err
        finally:
            self._making -= 1
            if not made:
                self._next()
        keep_alive(transport.get_extra_info("socket"))
        self._open.add(wire)
        return wire

    def _give_back(self, wire: Wire) -> None:
        if wire.is_gone:
            self._drop(wire)
            return
        wire.idle_since = asyncio.get_running_loop().time()
        self._idle.append(wire)
        self._next()

    def _lost(self, wire: Wire) -> None:
        if wire in self._idle:
            self._idle.remove(wire)
        self._drop(wire)

    def _drop(self, wire: Wire) -> None:
        if wire in self._open:
            self._open.discard(wire)
            self._next()

    def _next(self) -> None:
        while self._waiting:
            turn = self._waiting.popleft()
            if not turn.done():
                turn.set_result(None)
                return


class Wire(asyncio.Protocol):
    """One connection; one request at a time."""

    def __init__(self, lost: Callable[[Wire], None]) -> None:
        self.idle_since = 0.0
        self.is_gone = False
        self.lasts = True
        """Whether the connection may be used again after the last answer."""
        self._told_lost = lost
        self._transport: asyncio.Transport
        self._answer: asyncio.Future[Response] | None = None
        self._begin()

    def ask(self, request: bytes) -> asyncio.Future[Response]:
        self._answer = asyncio.get_running_loop().create_future()
        if self.is_gone:
            self._answer.set_exception(BrokenOff("the server closed the connection"))
        else:
            self._transport.write(request)
        return self._answer

    def abort(self) -> None:
        self.is_gone = True
        self._transport.abort()

    def _begin(self) -> None:
        self._parser = httptools.HttpResponseParser(self)
        self._headers: dict[str, str] = {}
        self._body: list[bytes] = []
        self._headed = False

    # ---- what the event loop tells

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = transport  # type: ignore[assignment] # of uvloop, and one in all it does

    def data_received(self, data: bytes) -> None:
        try:
            self._parser.feed_data(data)
        except httptools.HttpParserError as err:
            self._fail(BrokenOff(f"the server's answer is not HTTP: {err}"))
            self.abort()

    def connection_lost(self, exc: Exception | None) -> None:
        self.is_gone = True
        if self._headed and exc is None and not any(name in self._headers for name in _FRAMES):
            self._finish()  # an answer that lasts until the connection ends
        self._fail(BrokenOff(str(exc) if exc else "the server closed the connection"))
        self._told_lost(self)

    # ---- what the parser tells

    def on_header(self, name: bytes, value: bytes) -> None:
        self._headers[name.decode("latin-1").lower()] = value.decode("utf-8", "surrogateescape")

    def on_headers_complete(self) -> None:
        self._headed = True

    def on_body(self, body: bytes) -> None:
        self._body.append(body)

    def on_message_complete(self) -> None:
        if self._parser.get_status_code() < 200:  # the answer itself is still to come
            self._headers, self._headed = {}, False
            return
        self.lasts = self._parser.should_keep_alive()
        self._finish()

    def _finish(self) -> None:
        answer, code = self._answer, self._parser.get_status_code()
        body = self._body[0] if len(self._body) == 1 else b"".join(self._body)
        if self._headers.get("content-encoding") == "gzip" and body:
            try:
                body = zlib.decompress(body, _GZIP)
            except zlib.error as err:
                self._fail(BrokenOff(f"the server's answer cannot be unpacked: {err}"))
                return
        headers = self._headers
        self._headers, self._body, self._headed = {}, [], False
        if answer is not None and not answer.done():
            self._answer = None
            answer.set_result(Response(code, headers, body))
        else:
            self.lasts = False  # an answer that nobody asked for
            self.abort()

    def _fail(self, err: BrokenOff) -> None:
        answer, self._answer = self._answer, None
        if answer is not None and not answer.done():
            answer.set_exception(err)


def _reason(err: OSError) -> str:
    if isinstance(err, ssl.SSLCertVerificationError):
        return f"its certificate is not trusted: {err}"
    return f"cannot connect: {err.strerror or err}"
