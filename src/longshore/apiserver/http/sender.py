"""Sends a streamed answer: its head, then pieces for as long as the client reads them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from longshore.apiserver.http.response import Fields, stream_head

if TYPE_CHECKING:
    from longshore.apiserver.http.client_connection import Connection
    from longshore.apiserver.http.request import Request


class Sender:
    """Raises ConnectionResetError if the client has gone, TimeoutError if it stops reading."""

    __slots__ = ("chunked", "connection", "request", "started")

    def __init__(self, connection: Connection, request: Request) -> None:
        self.connection, self.request = connection, request
        self.started = False
        self.chunked = not request.old
        """Whether pieces are chunks of HTTP/1.1. Else the end of the connection is the end of the answer."""

    def start(self, media_type: str, headers: Fields = ()) -> None:
        """Sends the head."""
        self.started = True
        if not self.chunked:
            self.request.last = True
        framing = b"Transfer-Encoding: chunked\r\n" if self.chunked else b""
        if self.request.last:
            framing += b"Connection: close\r\n"
        self.connection.write(stream_head(200, media_type, headers, framing, self.request.now()))

    async def send(self, data: bytes) -> None:
        """Sends one piece."""
        if data:
            await self.send_framed(frame(data) if self.chunked else data)

    async def send_framed(self, data: bytes) -> None:
        """Sends pieces that are already framed, if the answer is chunked."""
        self.connection.write(data)
        await self.connection.drain(self.connection.stuck_seconds)

    def finish(self) -> None:
        """Ends the answer."""
        if self.started and self.chunked:
            self.connection.write(b"0\r\n\r\n")


def frame(data: bytes) -> bytes:
    """A chunk of HTTP/1.1."""
    return b"%x\r\n%b\r\n" % (len(data), data)
