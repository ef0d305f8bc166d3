"""HTTP/1.1 from a client's side, without a socket: where a request goes, its bytes, and the answer in the
bytes that came back. `asyncio_driver.py` and `blocking_driver.py` carry the bytes.

Knows nothing of retries and credentials; see transport.py.
"""

from __future__ import annotations

import re
import socket
import zlib
from collections.abc import Iterable
from functools import lru_cache
from typing import Final, TypeAlias
from urllib.parse import urlsplit

import httptools
import msgspec

from longshore.client.http import proxy

_GZIP: Final = 16 + zlib.MAX_WBITS
_UNSAFE: Final = re.compile(r"[\x00-\x20\x7f]")
"""Characters that a request target never has. A name with a line break must not become another header."""
_UNSAFE_VALUE: Final = re.compile(r"[\r\n\0]")
_FRAMES: Final = ("content-length", "transfer-encoding")
_SWITCHING_PROTOCOLS_CODE: Final = 101
"""The code of an answer after which both sides speak another protocol."""
Headers: TypeAlias = Iterable[tuple[str, str]]
"""Names and values; a name may occur several times."""
KEEP_ALIVE: Final = {
    "TCP_KEEPIDLE": 15,
    "TCP_KEEPINTVL": 15,
    "TCP_KEEPCNT": 2,
    "TCP_USER_TIMEOUT": 30_000,
}
"""Seconds of silence before the first probe, seconds between probes, number of probes, milliseconds until
sent data must be acknowledged. As in client-go, a peer that vanished (a load balancer that failed over) is
noticed within 45 s."""


class NoConnection(Exception):
    """The server cannot be connected to."""


class ConnectingTimedOut(Exception):
    """No connection was made in time."""


class BrokenOff(Exception):
    """The connection ended before the answer did."""


class Route(msgspec.Struct, frozen=True):
    """The way to one server, perhaps through a proxy."""

    host: str
    """The address to connect to, the server's or the proxy's."""
    port: int
    authority: str
    """The server's host and port as the `Host` header has them."""
    tls_name: str = ""
    """The name in the server's certificate; empty for a server without TLS."""
    tls_proxy: str = ""
    """The name in the proxy's certificate; empty for a proxy without TLS."""
    tunnel: bytes = b""
    """A request that is sent first, and makes the proxy connect to the server."""
    prefix: str = ""
    """Scheme and authority before the path, for a proxy that forwards plain HTTP; else empty."""
    headers: tuple[tuple[str, str], ...] = ()
    """Headers of every request: the credentials for a proxy that forwards plain HTTP."""

    @property
    def needs_tls(self) -> bool:
        return bool(self.tls_name or self.tls_proxy)

    @property
    def first_tls_name(self) -> str:
        """The name in the certificate of the server or proxy that is connected to; empty without TLS."""
        return self.tls_proxy if self.tunnel or self.prefix else self.tls_name

    def request(self, method: str, target: str, headers: Headers, body: bytes = b"") -> bytes:
        """The bytes of a request. Raises ValueError if a line break could add another header."""
        if _UNSAFE.search(target):
            raise ValueError(f"{target!r} cannot be asked for: it has spaces or control characters")
        lines = [f"{method} {self.prefix}{target} HTTP/1.1\r\nHost: {self.authority}"]
        lines += map(": ".join, (*self.headers, *headers))
        if body or method != "GET":
            lines.append(f"Content-Length: {len(body)}")
        text = "\r\n".join(lines)
        if text.count("\n") != len(lines) or text.count("\r") != len(lines) or "\0" in text:
            odd = next(line for line in lines[1:] if _UNSAFE_VALUE.search(line))
            raise ValueError(f"header {odd.partition(':')[0]} has a line break: {odd!r}")
        return f"{text}\r\n\r\n".encode("utf-8", "surrogateescape") + body


def route(server: str, through: str | None = None, name: str = "") -> Route:
    """The way to the server of a URL. `through` is a proxy's URL; `name` is the name that the certificate
    must have, instead of the host."""
    parts = urlsplit(server)
    secure, host = parts.scheme == "https", parts.hostname or ""
    port = parts.port or (443 if secure else 80)
    bracketed = f"[{host}]" if ":" in host else host
    authority = f"{bracketed}:{parts.port}" if parts.port else bracketed
    tls_name = (name or host) if secure else ""
    if through is None:
        return Route(host, port, authority, tls_name)
    at = urlsplit(through)
    near, tls_proxy = at.hostname or "", (at.hostname or "") if at.scheme == "https" else ""
    near_port = at.port or (443 if tls_proxy else 80)
    password = tuple(proxy.authorization(through).items())
    if not secure:
        prefix = f"http://{parts.netloc}"
        return Route(near, near_port, authority, tls_proxy=tls_proxy, prefix=prefix, headers=password)
    whole = f"{bracketed}:{port}"
    lines = [f"CONNECT {whole} HTTP/1.1", f"Host: {whole}", *(f"{key}: {text}" for key, text in password)]
    tunnel = ("\r\n".join(lines) + "\r\n\r\n").encode()
    return Route(near, near_port, authority, tls_name, tls_proxy, tunnel)


class AnswerReader:
    """Reads the answers on one connection, one at a time; `next` prepares it for the next answer."""

    __slots__ = (
        "_body", "_fields", "_parser", "_problem", "_switched", "_taken", "_unpack", "code", "headers",
        "is_whole", "lasts", "phrase", "received",
    )  # fmt: skip

    def __init__(self) -> None:
        self._parser = httptools.HttpResponseParser(self)
        self._fields: dict[str, str] = {}
        self._switched = False
        self.next()

    def next(self) -> None:
        self.code = 0
        """The status code; 0 until the head has arrived."""
        self.phrase = b""
        """The reason phrase after the status code."""
        self.headers: dict[str, str] = {}
        """By lower-case name. The values of a repeated header are joined with commas."""
        self.is_whole = False
        self.lasts = False
        """Whether the connection may be used again after the whole answer."""
        self.received = 0
        """Bytes of the body so far, decompressed."""
        self._body: list[bytes] = []
        self._taken = 0
        self._unpack: zlib._Decompress | None = None
        self._problem = ""

    def feed(self, data: bytes) -> None:
        """Parses received bytes. Raises `BrokenOff` if they are no HTTP answer."""
        if self._switched:
            self._add(data)
            return
        try:
            self._parser.feed_data(data)
        except httptools.HttpParserUpgrade as stop:
            self._switched, self.is_whole, self.lasts = True, False, False
            if rest := data[stop.args[0] :]:
                self._add(rest)
        except httptools.HttpParserError as err:
            raise BrokenOff(f"the server's answer is not HTTP: {err}") from err
        if self._problem:
            raise BrokenOff(f"the server's answer cannot be unpacked: {self._problem}")

    def end(self) -> None:
        """Handles the end of the connection. Raises `BrokenOff` unless it completes the answer."""
        self.lasts = False
        if not self.is_whole:
            if not self.code or any(name in self.headers for name in _FRAMES):
                raise BrokenOff("the server closed the connection")
            self._finish()
            if self._problem:
                raise BrokenOff(f"the server's answer cannot be unpacked: {self._problem}")

    def take(self) -> bytes:
        """The bytes of the body that arrived since the last `take`."""
        pieces, self._body, self._taken = self._body, [], self.received
        return pieces[0] if len(pieces) == 1 else b"".join(pieces)

    @property
    def waiting(self) -> int:
        """How many bytes `take` would return."""
        return self.received - self._taken

    def _add(self, data: bytes) -> None:
        self._body.append(data)
        self.received += len(data)

    def _finish(self) -> None:
        self.is_whole = True
        if self._unpack is not None and not self._unpack.eof:
            self._problem = "it ends too early"

    # ---- called by the parser

    def on_status(self, status: bytes) -> None:
        if not self.is_whole:
            self.phrase += status

    def on_header(self, name: bytes, value: bytes) -> None:
        key, text, fields = _key(name), value.decode("utf-8", "surrogateescape"), self._fields
        fields[key] = f"{fields[key]}, {text}" if key in fields else text

    def on_headers_complete(self) -> None:
        fields, self._fields = self._fields, {}
        code = self._parser.get_status_code()
        if self.is_whole:
            self.lasts = False  # an answer to no request
        elif code >= 200 or code == _SWITCHING_PROTOCOLS_CODE:
            self.code, self.headers = code, fields
        else:
            self.phrase = b""  # the answer itself is still to come

    def on_body(self, body: bytes) -> None:
        if self.is_whole:
            return
        if self.headers.get("content-encoding") == "gzip":
            if self._unpack is None:
                self._unpack = zlib.decompressobj(_GZIP)
            try:
                body = self._unpack.decompress(body)
            except zlib.error as err:
                self._problem = str(err)
                return
        self._body.append(body)
        self.received += len(body)

    def on_message_complete(self) -> None:
        if self.code and not self.is_whole:
            self.lasts = self._parser.should_keep_alive()
            self._finish()


@lru_cache(128)  # servers send few names, again and again
def _key(name: bytes) -> str:
    return name.decode("latin-1").lower()


def keep_alive(made: socket.socket) -> None:
    """Turns on TCP keep-alive, so that the kernel notices a peer that vanished."""
    made.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for name, value in KEEP_ALIVE.items():
        if hasattr(socket, name):  # not every system has all of them
            made.setsockopt(socket.IPPROTO_TCP, getattr(socket, name), value)


def refused(code: int) -> NoConnection:
    """The error of a proxy that opens no tunnel."""
    return NoConnection(f"cannot connect: the proxy answered {code}")
