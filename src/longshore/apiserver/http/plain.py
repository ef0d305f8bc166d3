"""The usual answer, a whole body on a connection that stays open, written by hand in one go.

aiohttp prepares a response step by step for many cases that never come up here, which costs a third of
all the work of a small request. Whatever is not usual (HTTP/1.0, HEAD, the last answer of a connection)
goes its way.
"""

from __future__ import annotations

import time
from email.utils import formatdate
from functools import lru_cache
from typing import Final

from aiohttp import http, web
from aiohttp.abc import AbstractStreamWriter

_EMPTY: Final = (204, 304)
_ONE_WRITE: Final = 1 << 16  # a longer body is not copied to join it with its head


class Plain(web.Response):
    """A `web.Response` with a body of bytes."""

    async def prepare(self, request: web.BaseRequest) -> AbstractStreamWriter | None:
        """Sends everything at once where that can be done; `write_eof` then finds nothing left to do."""
        body = self.body
        if (
            request.version != http.HttpVersion11
            or not request.keep_alive
            or self.keep_alive is False
            or request.method == "HEAD"
            or self.status in _EMPTY
            or not isinstance(body, bytes)
        ):
            return await super().prepare(request)
        transport = request.transport
        if transport is None or transport.is_closing():
            raise ConnectionResetError("the client is gone")
        head = self._head(len(body))
        if len(body) < _ONE_WRITE:
            transport.write(head + body)
        else:
            transport.writelines((head, body))
        writer = request.writer
        writer.output_size += len(head) + len(body)
        self._keep_alive = self._eof_sent = True
        await writer.drain()  # a client that asks without reading has to wait
        return None

    def _head(self, length: int) -> bytes:
        lines = [f"HTTP/1.1 {self.status} {self.reason}\r\n"]
        lines += [f"{name}: {value}\r\n" for name, value in self.headers.items() if name != "Content-Length"]
        return f"{''.join(lines)}Content-Length: {length}\r\nDate: {_date(int(time.time()))}\r\n\r\n".encode()


@lru_cache(maxsize=1)
def _date(second: int) -> str:
    return formatdate(second, usegmt=True)
