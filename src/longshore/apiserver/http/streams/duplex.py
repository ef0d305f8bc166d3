"""Bytes in both directions, whatever carries them: a connection that was HTTP before, or a WebSocket."""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING, Final, Protocol

if TYPE_CHECKING:
    from longshore.apiserver.http.client_connection import Connection
    from longshore.apiserver.http.websocket import WebSocket

_READ_BYTES: Final = 1 << 16
_QUIET_SECONDS: Final = 4 * 3600.0
"""A kubelet, too, closes a connection on which nothing was said for four hours."""


class Activity:
    """When something was last said on a connection, by either side."""

    def __init__(self) -> None:
        self._at = time.monotonic()

    def touch(self) -> None:
        self._at = time.monotonic()

    def left(self) -> float:
        """Seconds until it has been quiet for too long."""
        return self._at + _QUIET_SECONDS - time.monotonic()


class Duplex(Protocol):
    async def read(self) -> bytes:
        """The next bytes; none at the end."""

    async def write(self, data: bytes) -> None:
        """Waits while the other side does not read. Raises ConnectionError when it has gone."""

    async def close(self) -> None: ...


class RawDuplex:
    """A connection that has changed its protocol; `reader` is what `Connection.switch` gave."""

    def __init__(self, connection: Connection, reader: asyncio.StreamReader, activity: Activity) -> None:
        self._connection, self._reader, self._activity = connection, reader, activity

    async def read(self) -> bytes:
        data = await self._reader.read(_READ_BYTES)
        self._activity.touch()
        return data

    async def write(self, data: bytes) -> None:
        self._activity.touch()
        self._connection.write(data)
        await self._connection.drain()

    async def close(self) -> None:
        self._connection.close()


class WebSocketDuplex:
    """The binary messages of a WebSocket, as one stream of bytes."""

    def __init__(self, socket: WebSocket, activity: Activity) -> None:
        self._socket, self._activity = socket, activity

    async def read(self) -> bytes:
        while True:
            message = await self._socket.receive()
            self._activity.touch()
            if not isinstance(message, bytes):
                return b""
            if message:
                return message

    async def write(self, data: bytes) -> None:
        self._activity.touch()
        await self._socket.send_bytes(data)

    async def close(self) -> None:
        await self._socket.close()
