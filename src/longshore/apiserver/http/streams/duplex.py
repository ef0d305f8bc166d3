"""Streams of bytes in both directions, over a connection that was HTTP before or over a WebSocket."""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING, Final, Protocol

if TYPE_CHECKING:
    from longshore.apiserver.http.client_connection import Connection
    from longshore.apiserver.http.websocket import WebSocket

_READ_BYTES: Final = 1 << 16
_FRAMES_IN_A_TURN: Final = 64
"""Frames that are read before other tasks may run: about a millisecond."""
_QUIET_SECONDS: Final = 4 * 3600.0
"""A connection without data for four hours is closed, as by a kubelet."""


class Activity:
    """The time of the last data on a connection, in either direction."""

    def __init__(self) -> None:
        self._at = time.monotonic()

    def touch(self) -> None:
        self._at = time.monotonic()

    def left(self) -> float:
        """Seconds until the connection has been quiet for too long."""
        return self._at + _QUIET_SECONDS - time.monotonic()


class Turns:
    """Lets other tasks run now and then while the frames of one client are read."""

    def __init__(self) -> None:
        self._frames = 0

    async def next(self) -> None:
        """Counts one more frame."""
        self._frames += 1
        if not self._frames % _FRAMES_IN_A_TURN:
            await asyncio.sleep(0)


class Duplex(Protocol):
    async def read(self) -> bytes:
        """The next bytes; none at the end."""

    async def write(self, data: bytes) -> None:
        """Waits while the other side does not read. Raises ConnectionError when it has gone."""

    async def close(self) -> None: ...


class RawDuplex:
    """A connection that has changed its protocol; `reader` comes from `Connection.switch`."""

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
