"""Bytes in both directions, whatever carries them: a connection taken over from HTTP, or a WebSocket."""

from __future__ import annotations

import asyncio
import time
from typing import Final, Protocol

from aiohttp import WSMsgType, web
from aiohttp.abc import AbstractStreamWriter

from longshore.apiserver.http.connection import Connection

_CHUNK: Final = 1 << 16


_QUIET: Final = 4 * 3600.0
"""A kubelet, too, closes a connection on which nothing was said for four hours."""


class Activity:
    """When something was last said on a connection, by either side."""

    def __init__(self) -> None:
        self._at = time.monotonic()

    def touch(self) -> None:
        self._at = time.monotonic()

    def left(self) -> float:
        """Seconds until it has been quiet for too long."""
        return self._at + _QUIET - time.monotonic()


class Wire(Protocol):
    async def read(self) -> bytes:
        """The next bytes; none at the end."""

    async def write(self, data: bytes) -> None:
        """Waits while the other side does not read. Raises ConnectionError when it has gone."""

    async def close(self) -> None: ...


class TakenOver(web.StreamResponse):
    """Stands for an answer that was written by hand; after it, the connection is no more HTTP."""

    def __init__(self) -> None:
        super().__init__(status=101)
        self.force_close()

    async def prepare(self, request: web.BaseRequest) -> AbstractStreamWriter | None:
        return None

    async def write_eof(self, data: bytes = b"") -> None:
        return None


class RawWire:
    """The connection of a request, after a 101 with these headers."""

    def __init__(self, request: web.BaseRequest, headers: dict[str, str], activity: Activity) -> None:
        connection = request.protocol
        transport = request.transport
        if not isinstance(connection, Connection) or transport is None:
            raise ConnectionResetError("the client is gone")
        self._transport, self._writer, self._activity = transport, request.writer, activity
        self._reader = asyncio.StreamReader(_CHUNK)
        self._reader.set_transport(transport)
        connection.take_over(self._reader.feed_data)
        lines = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
        transport.write(f"HTTP/1.1 101 Switching Protocols\r\n{lines}\r\n".encode())

    async def read(self) -> bytes:
        data = await self._reader.read(_CHUNK)
        self._activity.touch()
        return data

    async def write(self, data: bytes) -> None:
        if self._transport.is_closing():
            raise ConnectionResetError("the client is gone")
        self._activity.touch()
        self._transport.write(data)
        await self._writer.drain()

    async def close(self) -> None:
        self._transport.close()


class SocketWire:
    """The binary messages of a WebSocket, as one stream of bytes."""

    def __init__(self, socket: web.WebSocketResponse, activity: Activity) -> None:
        self._socket, self._activity = socket, activity

    async def read(self) -> bytes:
        while True:
            message = await self._socket.receive()
            self._activity.touch()
            if message.type is not WSMsgType.BINARY:
                return b""
            if message.data:
                return bytes(message.data)

    async def write(self, data: bytes) -> None:
        self._activity.touch()
        await self._socket.send_bytes(data)

    async def close(self) -> None:
        await self._socket.close()
