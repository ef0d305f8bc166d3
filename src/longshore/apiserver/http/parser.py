"""Parses requests: llhttp by way of httptools, strict, and the limits and refusals that it leaves to us.

llhttp refuses most ways to smuggle requests: two lengths, a length together with chunks, folded headers, a CR
or LF alone, NUL and other control characters, spaces before colons, chunk sizes that are none. Left to us are

- sizes: of a head, of its headers, of a body, of the framing around the chunks of a body;
- versions: llhttp reads HTTP/0.9 and HTTP/2.0, too;
- headers that must be there once (`Host`), or at most once, and encodings of a transfer other than `chunked`;
- an upgrade with a body: httptools would take the body for the next request;
- methods that llhttp does not know: such a request is read as a GET, so that a client without rights gets a
  403 first, and it is the last of its connection.

Two things that llhttp allows do no harm and pass: `RTSP/1.0` in place of `HTTP/1.0`, and empty lines before
a request.
"""

from __future__ import annotations

import re
from collections import deque
from enum import Enum
from functools import lru_cache
from typing import TYPE_CHECKING, Final

from httptools import HttpParserError, HttpParserInvalidMethodError, HttpParserUpgrade, HttpRequestParser

from longshore.api import errors
from longshore.apiserver.http.request import Headers, Request

if TYPE_CHECKING:
    from longshore.apiserver.request.call import User

MAX_BODY_BYTES: Final = 3 * 1024 * 1024
"""Upstream's limit for the body of a request."""
MAX_HEAD_BYTES: Final = 128 * 1024
"""Room for a target with long selectors."""
MAX_HEADERS: Final = 128
_MAX_CHUNK_OVERHEAD: Final = 16
"""The most bytes on the wire for each byte of a chunked body: enough for chunks of one byte."""
_MAX_CACHED_BYTES: Final = 1 << 14
"""Headers of longer requests are not cached."""
_SINGLE_HEADERS: Final = frozenset(
    (
        "authorization",
        "content-length",
        "content-location",
        "content-range",
        "content-type",
        "etag",
        "expect",
        "host",
        "impersonate-uid",
        "impersonate-user",
        "max-forwards",
        "server",
        "transfer-encoding",
        "user-agent",
    )
)
"""Headers that may occur once: with two of them it would not be clear which one counts."""
_METHODS: Final = {name.encode(): name for name in ("GET", "POST", "PUT", "PATCH", "DELETE")}
"""The usual methods, decoded once."""
_TOKEN: Final = re.compile(rb"[!#$%&'*+.^_`|~0-9A-Za-z-]{1,32}")
"""A method, as HTTP defines it."""


class Phase(Enum):
    """The part of a request in which the received bytes end."""

    BETWEEN = 0
    HEAD = 1
    BODY = 2


BETWEEN, HEAD, BODY = Phase
"""Short names, since looking up an attribute of an Enum takes longer than the rest of a callback."""


class RequestParser:
    """The requests of one connection, in order, in `requests`."""

    __slots__ = (
        "_body", "_fed", "_fields", "_odd_method", "_parser", "_piece", "_size", "_url", "_user", "ended",
        "pending", "phase", "problem", "requests",
    )  # fmt: skip

    def __init__(self, user: User | None) -> None:
        self._user = user
        self.requests: deque[Request] = deque()
        """Requests that have arrived whole."""
        self.pending: Request | None = None
        """The request whose head has arrived and whose body has not."""
        self.problem: errors.StatusError | None = None
        """Why the bytes after `requests` cannot be read; None if they can."""
        self.ended = False
        """Whether the client has sent its last request."""
        self.phase = BETWEEN
        self._url = b""
        self._fields: list[bytes] = []
        """Names and values of headers, alternating."""
        self._body: list[bytes] = []
        self._size = 0
        """Bytes of the body so far."""
        self._fed = 0
        """Bytes since the last whole request, in pieces that completed none; -1 if the last piece did."""
        self._piece = 0
        """`_fed` plus the bytes of the piece being read."""
        self._odd_method = ""
        """The method of the request that is read, if llhttp does not know it."""
        self._parser = HttpRequestParser(self)

    def feed(self, data: bytes) -> bytes:
        """Reads `data`. Returns the unread rest: bytes after a request that asks for another protocol."""
        if self.ended or self.problem is not None:
            return b""
        self._piece = len(data) if self._fed < 0 else self._fed + len(data)
        is_first, before = self.phase is BETWEEN, len(self.requests)
        try:
            self._parser.feed_data(data)
        except HttpParserUpgrade as stop:
            return data[stop.args[0] :]
        except HttpParserError as error:
            if isinstance(error, HttpParserInvalidMethodError) and is_first and before == len(self.requests):
                method, space, rest = data.partition(b" ")
                if space and not self._odd_method and _TOKEN.fullmatch(method):
                    self._odd_method = method.decode("ascii")
                    self._parser = HttpRequestParser(self)
                    return self.feed(b"GET " + rest)
            if not self.ended and self.problem is None:
                self.problem = _bad(error)
        else:
            if self.phase is not BETWEEN:
                self._check_unfinished()
        return b""

    def close(self) -> None:
        """Drops the parser, which refers back to this object."""
        del self._parser

    def _check_unfinished(self) -> None:
        """Limits the size of an unfinished request. The rest of a piece that completed one is not counted."""
        if self._fed < 0:
            self._fed = 0
            return
        self._fed = piece = self._piece
        if self.phase is HEAD:
            if piece > MAX_HEAD_BYTES:
                self.problem = _head_too_large()
        elif piece > 2 * MAX_HEAD_BYTES + _MAX_CHUNK_OVERHEAD * self._size:
            self.problem = errors.bad_request("the request is not valid HTTP: too much around its chunks")

    # ---- called by httptools

    def on_message_begin(self) -> None:
        self.phase = HEAD
        self._url = b""
        self._fields = []

    def on_url(self, url: bytes) -> None:
        self._url = self._url + url if self._url else url

    def on_header(self, name: bytes, value: bytes) -> None:
        self._fields += (name, value)

    def on_headers_complete(self) -> None:
        fields, self._fields = (
            self._fields,
            [],
        )  # trailers of a chunked body go into the new list, and nowhere
        if len(fields) > 2 * MAX_HEADERS or self._is_long(fields):
            raise self._refused(_head_too_large())
        try:
            read = _known_headers if self._piece <= _MAX_CACHED_BYTES else _headers_of
            headers = read(tuple(fields))
        except errors.StatusError as bad:
            raise self._refused(bad) from None
        parser = self._parser
        method = parser.get_method()
        request = Request(
            self._odd_method or _METHODS.get(method) or method.decode("ascii"),
            self._url.decode("ascii"),  # llhttp lets nothing else pass
            headers,
            self._user,
        )
        if self._odd_method or not parser.should_keep_alive():
            request.last = True
        if (
            request.last or "connection" in headers
        ):  # else it is HTTP/1.1: in no other version is this the rule
            self._check_version(request)
        if "host" not in headers and not request.old:
            raise self._bad('a request needs the header "Host"')
        if "transfer-encoding" in headers and request.old:
            raise self._bad("HTTP/1.0 knows no chunks")
        if parser.should_upgrade():
            self._check_upgrade(request)
        length = headers.get("content-length")
        if length is not None and int(length) > MAX_BODY_BYTES:
            raise self._refused(too_large())
        self.phase, self.pending = BODY, request

    def on_body(self, data: bytes) -> None:
        self._size += len(data)
        if self._size > MAX_BODY_BYTES:
            raise self._refused(too_large())
        self._body.append(data)

    def on_message_complete(self) -> None:
        request = self.pending
        assert request is not None
        body = self._body
        if body:
            request.body = body[0] if len(body) == 1 else b"".join(body)
            self._body, self._size = [], 0
        self.phase, self.pending, self._fed = BETWEEN, None, -1
        self.ended = request.last
        self.requests.append(request)

    # ---- what llhttp leaves to us

    def _is_long(self, fields: list[bytes]) -> bool:
        """Whether the head is too long. Adds it up only if the bytes read so far could be too many."""
        return self._piece > MAX_HEAD_BYTES and len(self._url) + sum(map(len, fields)) > MAX_HEAD_BYTES

    def _check_version(self, request: Request) -> None:
        version = self._parser.get_http_version()
        if version == "1.0":
            request.old = True
        elif version != "1.1":
            raise self._refused(errors.bad_request(f"HTTP/{version} is not served here; use HTTP/1.1"))

    def _check_upgrade(self, request: Request) -> None:
        headers = request.headers
        if "transfer-encoding" in headers or int(headers.get("content-length", "0")):
            raise self._bad("a request for another protocol cannot have a body")
        request.upgrade = headers.get("upgrade", "").lower()

    def _bad(self, why: str) -> HttpParserError:
        return self._refused(_bad(why))

    def _refused(self, problem: errors.StatusError) -> HttpParserError:
        """Notes the problem, which httptools does not pass on, and returns the error to raise."""
        self.problem = problem
        return HttpParserError(problem.message)


def _headers_of(fields: tuple[bytes, ...]) -> Headers:
    """The headers of alternating names and values. Requests share them, so they must not be changed."""
    headers = Headers()
    for raw_name, raw_value in zip(fields[::2], fields[1::2], strict=True):
        name = raw_name.decode("ascii").lower()
        # Half of a surrogate pair is replaced: no answer and no stored object can hold it.
        value = raw_value.rstrip(b" \t").decode("utf-8", "replace")
        if name not in headers:
            headers[name] = value
        elif name in _SINGLE_HEADERS:
            raise _bad(f'the header "{name}" is there twice')
        else:
            headers.repeated.append((name, value))
    if headers.get("transfer-encoding", "chunked").lower() != "chunked":
        raise _bad("a body can be sent in chunks or with its length, and no other way")
    return headers


_known_headers: Final = lru_cache(maxsize=512)(_headers_of)
"""Caches headers of short requests. Most requests of a client have equal ones: saves 3 µs of 7 for each."""


def _bad(why: str | HttpParserError) -> errors.StatusError:
    return errors.bad_request(f"the request is not valid HTTP: {why}")


def too_large(limit: int = MAX_BODY_BYTES) -> errors.StatusError:
    """The refusal of a body that is too long."""
    text = f"Request entity too large: limit is {limit}"
    return errors.StatusError(413, "RequestEntityTooLarge", text, details={})


def _head_too_large() -> errors.StatusError:
    text = f"the head of a request may have {MAX_HEAD_BYTES} bytes and {MAX_HEADERS} headers"
    return errors.StatusError(431, "RequestHeaderFieldsTooLarge", text, details={})
