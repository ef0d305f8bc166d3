"""WebSockets of a client, on a connection that began as HTTP. wsproto reads and writes the frames."""

from __future__ import annotations

import asyncio
import base64
import hashlib
import os
from collections.abc import AsyncIterator, Iterator, Sequence
from typing import Final

from wsproto.connection import Connection as Frames
from wsproto.connection import ConnectionState, ConnectionType
from wsproto.events import BytesMessage, CloseConnection, Event, Message, Ping, TextMessage
from wsproto.frame_protocol import CloseReason
from wsproto.utilities import RemoteProtocolError

from longshore.client.http.asyncio_driver import HttpConnection
from longshore.client.http.http1 import BrokenOff

_GUID: Final = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"
"""From RFC 6455, section 1.3: its hash shows that the server has understood the handshake."""
_GOODBYE_SECONDS: Final = 2.0
"""How long to wait for the server's close frame."""


class Handshake:
    """Asks a server for a WebSocket that speaks one of the protocols."""

    def __init__(self, protocols: Sequence[str]) -> None:
        self._key = base64.b64encode(os.urandom(16)).decode()
        self.headers = {
            "Upgrade": "websocket",
            "Connection": "Upgrade",
            "Sec-WebSocket-Version": "13",
            "Sec-WebSocket-Key": self._key,
            "Sec-WebSocket-Protocol": ", ".join(protocols),
        }

    def accepted(self, connection: HttpConnection) -> WebSocket:
        """The socket after an answer of 101. Raises `BrokenOff` if the answer does not fit this handshake."""
        headers = connection.reader.headers
        digest = hashlib.sha1((self._key + _GUID).encode(), usedforsecurity=False).digest()
        if headers.get("sec-websocket-accept") != base64.b64encode(digest).decode():
            raise BrokenOff("the server's answer is no handshake of a WebSocket")
        return WebSocket(connection, headers.get("sec-websocket-protocol", ""))


class WebSocket:
    """Messages in both directions. Sending raises ConnectionError when the server has gone."""

    def __init__(self, connection: HttpConnection, protocol: str) -> None:
        self._connection, self.protocol = connection, protocol
        self._frames = Frames(ConnectionType.CLIENT)
        self._events: Iterator[Event] = iter(())
        """Events of the bytes that were read, taken one by one."""
        self._parts: list[bytes] = []
        """The beginning of a message whose end has not arrived."""

    async def send(self, data: bytes) -> None:
        if self._frames.state is not ConnectionState.OPEN:
            raise ConnectionResetError("the server closed the WebSocket")
        await self._connection.write(self._frames.send(BytesMessage(data)))

    async def receive(self) -> bytes | None:
        """The next message, a text as its bytes; None at the end. A call that is cancelled loses nothing."""
        while (event := await self._event()) is not None:
            if isinstance(event, Message):
                data = event.data
                self._parts.append(data.encode() if isinstance(event, TextMessage) else bytes(data))
                if event.message_finished:
                    message, self._parts = b"".join(self._parts), []
                    return message
            elif isinstance(event, Ping):
                await self._connection.write(self._frames.send(event.response()))
            elif isinstance(event, CloseConnection):
                if self._frames.state is ConnectionState.REMOTE_CLOSING:
                    await self._connection.write(self._frames.send(event.response()))
                return None
        return None

    async def __aiter__(self) -> AsyncIterator[bytes]:
        while (message := await self.receive()) is not None:
            yield message

    async def close(self) -> None:
        """Sends a close frame, and waits up to 2 s for the server's."""
        try:
            async with asyncio.timeout(_GOODBYE_SECONDS):
                if self._frames.state is ConnectionState.OPEN:
                    goodbye = self._frames.send(CloseConnection(CloseReason.NORMAL_CLOSURE))
                    await self._connection.write(goodbye)
                while await self.receive() is not None:
                    pass
        except (ConnectionError, TimeoutError):
            pass

    async def _event(self) -> Event | None:
        while (event := next(self._events, None)) is None:
            if self._frames.state is ConnectionState.CLOSED:
                return None
            try:
                data = await self._connection.read()
                if not data:
                    return None
                self._frames.receive_data(data)
            except (BrokenOff, RemoteProtocolError):
                return None
            self._events = self._frames.events()
        return event
