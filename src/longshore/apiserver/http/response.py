"""A whole answer and its bytes on the wire, written by hand in one go."""

from __future__ import annotations

import time
from functools import lru_cache
from http import HTTPStatus
from typing import TYPE_CHECKING, Final

import msgspec

if TYPE_CHECKING:
    from longshore.apiserver.http.request import Request

Fields = tuple[tuple[str, str], ...]

NO_CACHE: Final = "no-cache, private"
NOSNIFF: Final[Fields] = (("X-Content-Type-Options", "nosniff"),)
"""For texts that the server did not write: browsers then do not show them as pages."""
CONTINUE: Final = b"HTTP/1.1 100 Continue\r\n\r\n"
_BODILESS_CODES: Final = (204, 304)
_DAYS: Final = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
_MONTHS: Final = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
_JOINED_BYTES: Final = 1 << 16
"""A longer body is not copied to join it with its head."""


class Reply(msgspec.Struct, frozen=True):
    """An answer with its whole body, before it is framed for one request."""

    code: int
    media_type: str
    body: bytes
    headers: Fields = ()
    """Headers besides those for type, length, date and caching."""
    caching: str = NO_CACHE

    def pieces(self, request: Request, *, last: bool) -> tuple[bytes, ...]:
        """Head and body as they are sent; joined if they are small."""
        if self.code in _BODILESS_CODES:
            framing = _connection(request, last)
            at = request.now()
            return (stream_head(self.code, self.media_type, self.headers, framing, at, self.caching),)
        extra = _lines(self.headers) if self.headers else b""
        if last or request.last or request.old:
            extra += _connection(request, last)
        body = self.body
        head = b"%b%bContent-Length: %d\r\nDate: %b\r\n\r\n" % (
            _first_lines(self.code, self.media_type, self.caching),
            extra,
            len(body),
            _date(int(request.now())),
        )
        if request.method == "HEAD":
            return (head,)
        return (head + body,) if len(body) < _JOINED_BYTES else (head, body)


def stream_head(
    code: int, media_type: str, headers: Fields, framing: bytes, now: float, caching: str = NO_CACHE
) -> bytes:
    """The head of an answer whose length is not known, or which has no body. `now` is its `Date`."""
    return b"%b%b%bDate: %b\r\n\r\n" % (
        _first_lines(code, media_type, caching),
        _lines(headers),
        framing,
        _date(int(now)),
    )


def switch_head(headers: Fields) -> bytes:
    """The head after which a connection speaks another protocol."""
    return b"HTTP/1.1 101 Switching Protocols\r\n%b\r\n" % _lines(headers)


def _connection(request: Request, last: bool) -> bytes:
    """The header `Connection`, if it differs from the default: HTTP/1.1 closes, or HTTP/1.0 stays open."""
    if last or request.last:
        return b"Connection: close\r\n"
    return b"Connection: keep-alive\r\n" if request.old else b""


def _lines(headers: Fields) -> bytes:
    return "".join(f"{name}: {value}\r\n" for name, value in headers).encode("utf-8", "surrogateescape")


@lru_cache(maxsize=256)
def _first_lines(code: int, media_type: str, caching: str) -> bytes:
    typed = f"Content-Type: {media_type}\r\n" if media_type else ""
    return f"HTTP/1.1 {code} {HTTPStatus(code).phrase}\r\n{typed}Cache-Control: {caching}\r\n".encode()


@lru_cache(maxsize=1)
def _date(second: int) -> bytes:
    """The moment as HTTP writes it. `email.utils` knows how, and takes 2 ms to load."""
    at = time.gmtime(second)
    day, month = _DAYS[at.tm_wday], _MONTHS[at.tm_mon - 1]
    clock = f"{at.tm_hour:02}:{at.tm_min:02}:{at.tm_sec:02}"
    return f"{day}, {at.tm_mday:02} {month} {at.tm_year:04} {clock} GMT".encode()
