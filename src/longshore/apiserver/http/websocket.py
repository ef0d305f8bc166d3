"""WebSockets on a connection that began as HTTP. wsproto reads and writes the frames."""

from __future__ import annotations

import asyncio
import base64
import binascii
import hashlib
from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from wsproto.connection import Connection as Frames
from wsproto.connection import ConnectionState, ConnectionType
from wsproto.events import BytesMessage, CloseConnection, Event, Message, Ping, TextMessage
from wsproto.frame_protocol import CloseReason
from wsproto.utilities import RemoteProtocolError

from longshore.api import errors
from longshore.apiserver.http.open_streams import cancelled
from longshore.apiserver.http.response import Fields
from longshore.apiserver.http.streams.duplex import Turns

if TYPE_CHECKING:
    from longshore.apiserver.http.client_connection import Connection
    from longshore.apiserver.http.request import Request

_GUID: Final = b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11"
"""RFC 6455, section 1.3: shows the client that the server has understood the handshake."""
_VERSION: Final = "13"
_MAX_MESSAGE_BYTES: Final = 1 << 25
_READ_BYTES: Final = 1 << 16
_GOODBYE_SECONDS: Final = 2.0
"""Seconds for the client to answer the close frame."""


def accept(connection: Connection, request: Request, protocol: str = "") -> WebSocket:
    """Answers the handshake; raises 400 if it is invalid."""
    headers = request.headers
    if request.method != "GET" or request.upgrade != "websocket":
        raise errors.bad_request("Upgrade request required")
    if headers.get("sec-websocket-version") != _VERSION:
        raise errors.bad_request(f'a WebSocket needs the header "Sec-WebSocket-Version: {_VERSION}"')
    key = headers.get("sec-websocket-key", "")
    try:
        is_key = len(base64.b64decode(key, validate=True)) == 16
    except (binascii.Error, ValueError):
        is_key = False
    if not is_key:
        raise errors.bad_request('a WebSocket needs a "Sec-WebSocket-Key" of 16 bytes in base64')
    digest = hashlib.sha1(key.encode() + _GUID, usedforsecurity=False).digest()
    fields: Fields = (
        ("Upgrade", "websocket"),
        ("Connection", "Upgrade"),
        ("Sec-WebSocket-Accept", base64.b64encode(digest).decode()),
    )
    if protocol:
        fields += (("Sec-WebSocket-Protocol", protocol),)
    return WebSocket(connection, connection.switch(fields))


class WebSocket:
    """Messages in both directions. Writing raises ConnectionError when the client has gone."""

    def __init__(self, connection: Connection, reader: asyncio.StreamReader) -> None:
        self._connection, self._reader = connection, reader
        self._frames = Frames(ConnectionType.SERVER)
        self._events: Iterator[Event] = iter(())
        """Events of the bytes that were read, taken one by one."""
        self._turns = Turns()
        self._receiving = False
        self._ended = asyncio.Event()
        self._heard = True
        """Whether the client has sent anything since the last ping."""

    async def receive(self) -> bytes | str | None:
        """The next message; None at the end. For one task at a time."""
        self._receiving = True
        try:
            message = await self._receive()
        finally:
            self._receiving = False
        if message is None:
            self._ended.set()
        return message

    async def _receive(self) -> bytes | str | None:
        parts: list[bytes | str] = []
        size = 0
        while True:
            event = await self._event()
            if event is None:
                return None
            if isinstance(event, Message):
                size += len(event.data)
                if size > _MAX_MESSAGE_BYTES:
                    self._say_goodbye(CloseReason.MESSAGE_TOO_BIG)
                    return None
                if event.data or event.message_finished:  # empty fragments would pile up
                    parts.append(event.data if isinstance(event, TextMessage) else bytes(event.data))
                if event.message_finished:
                    return _joined(parts)
            elif isinstance(event, Ping):
                await self._answer(event)
            elif isinstance(event, CloseConnection):
                if self._frames.state is ConnectionState.REMOTE_CLOSING:
                    self._connection.write(self._frames.send(event.response()))
                elif self._frames.state is ConnectionState.OPEN:
                    self._say_goodbye(CloseReason(event.code))  # the client speaks something else
                return None

    async def _answer(self, ping: Ping) -> None:
        """Answers a ping, and waits until the client reads: unread answers would fill the memory. After the
        close frame of this side nothing more may be sent."""
        if self._frames.state is ConnectionState.OPEN:
            self._connection.write(self._frames.send(ping.response()))
            await self._connection.drain()

    async def listen(self) -> None:
        """For a client that sends no messages: reads to the end, and pings. Drops a client that sends nothing
        between two pings."""
        receiving = asyncio.ensure_future(self._receive_all())
        try:
            while True:
                heard, self._heard = self._heard, False
                done, _ = await asyncio.wait((receiving,), timeout=self._connection.stuck_seconds)
                if done:
                    return
                if not heard and not self._heard:
                    self._connection.abort()
                    return
                self._connection.write(self._frames.send(Ping()))
        finally:
            await cancelled([receiving])

    async def _receive_all(self) -> None:
        while await self.receive() is not None:
            pass

    async def send_bytes(self, data: bytes, seconds: float | None = None) -> None:
        """Raises TimeoutError if the client reads nothing for `seconds`."""
        self._connection.write(self._frames.send(BytesMessage(data)))
        await self._connection.drain(seconds)

    async def send_text(self, text: str, seconds: float | None = None) -> None:
        """Raises TimeoutError if the client reads nothing for `seconds`."""
        self._connection.write(self._frames.send(TextMessage(text)))
        await self._connection.drain(seconds)

    async def close(self) -> None:
        """Sends a close frame, waits a moment for the client's, and closes the connection."""
        try:
            if self._say_goodbye(CloseReason.NORMAL_CLOSURE):
                async with asyncio.timeout(_GOODBYE_SECONDS):
                    if self._receiving:
                        await self._ended.wait()
                    else:
                        await self._receive_all()
        except (ConnectionError, TimeoutError):
            pass
        self._connection.close()

    def _say_goodbye(self, why: CloseReason) -> bool:
        """Sends a close frame; False if either side has sent one before."""
        if self._frames.state is not ConnectionState.OPEN:
            return False
        self._connection.write(self._frames.send(CloseConnection(why)))
        return True

    async def _event(self) -> Event | None:
        await self._turns.next()
        while (event := next(self._events, None)) is None:
            if self._frames.state is ConnectionState.CLOSED:
                return None
            data = await self._reader.read(_READ_BYTES)
            if not data:
                return None
            self._heard = True
            try:
                self._frames.receive_data(data)
            except RemoteProtocolError:
                return None
            self._events = self._frames.events()
        return event


def _joined(parts: list[bytes | str]) -> bytes | str:
    if len(parts) == 1:
        return parts[0]
    # The parts of one message are all texts or all bytes, which their type cannot say.
    return "".join(parts) if isinstance(parts[0], str) else b"".join(parts)  # type: ignore[arg-type]
