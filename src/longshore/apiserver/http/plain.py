"""The usual answer, a whole body on a connection that stays open, written by hand in one go.

aiohttp prepares a response step by step for many cases that never come up here, which costs a third of
all the work of a small request. Whatever is not usual (HTTP/1.0, HEAD, the last answer of a connection)
goes its way.
"""

from __future__ import annotations

import time
from email.utils import formatdate
from functools import lru_cache
from http import HTTPStatus
from typing import Final, NamedTuple

from aiohttp import http, web
from aiohttp.abc import AbstractStreamWriter
from multidict import CIMultiDict

_NO_CACHE: Final = (("Cache-Control", "no-cache, private"),)
_EMPTY: Final = (204, 304)
_ONE_WRITE: Final = 1 << 16  # a longer body is not copied to join it with its head


class Reply(NamedTuple):
    """An answer of the API: what is sent, before it is known how."""

    code: int
    media_type: str
    body: bytes
    headers: tuple[tuple[str, str], ...] = ()
    """Besides the type, the length, the date, and that nothing may be cached."""

    def pieces(self) -> tuple[bytes, ...]:
        """Head and body as they go over the wire, joined when they are small."""
        extra = "".join(f"{name}: {value}\r\n" for name, value in self.headers) if self.headers else ""
        head = b"%b%bContent-Length: %d\r\nDate: %b\r\n\r\n" % (
            _first_lines(self.code, self.media_type),
            extra.encode(),
            len(self.body),
            _date(int(time.time())),
        )
        return (head + self.body,) if len(self.body) < _ONE_WRITE else (head, self.body)


class Plain(web.Response):
    """A `web.Response` with a body of bytes."""

    def __init__(self, reply: Reply) -> None:
        headers = CIMultiDict((("Content-Type", reply.media_type), *_NO_CACHE, *reply.headers))
        super().__init__(status=reply.code, body=reply.body, headers=headers)
        self._reply = reply

    async def prepare(self, request: web.BaseRequest) -> AbstractStreamWriter | None:
        """Sends everything at once where that can be done; `write_eof` then finds nothing left to do."""
        if (
            request.version != http.HttpVersion11
            or not request.keep_alive
            or self.keep_alive is False
            or request.method == "HEAD"
            or self.status in _EMPTY
        ):
            return await super().prepare(request)
        transport = request.transport
        if transport is None or transport.is_closing():
            raise ConnectionResetError("the client is gone")
        pieces = self._reply.pieces()
        transport.writelines(pieces)
        writer = request.writer
        writer.output_size += sum(map(len, pieces))
        self._keep_alive = self._eof_sent = True
        await writer.drain()  # a client that asks without reading has to wait
        return None


@lru_cache(maxsize=256)
def _first_lines(code: int, media_type: str) -> bytes:
    lines = f"Content-Type: {media_type}\r\nCache-Control: no-cache, private\r\n"
    return f"HTTP/1.1 {code} {HTTPStatus(code).phrase}\r\n{lines}".encode()


@lru_cache(maxsize=1)
def _date(second: int) -> bytes:
    return formatdate(second, usegmt=True).encode()
