"""WebSockets on a connection that began as HTTP. wsproto reads and writes the frames."""

from __future__ import annotations

import asyncio
import base64
import binascii
import hashlib
from collections import deque
from typing import TYPE_CHECKING, Final

from wsproto.connection import Connection as Frames
from wsproto.connection import ConnectionState, ConnectionType
from wsproto.events import BytesMessage, CloseConnection, Event, Message, Ping, TextMessage
from wsproto.frame_protocol import CloseReason
from wsproto.utilities import RemoteProtocolError

from longshore.api import errors
from longshore.apiserver.http.response import Fields

if TYPE_CHECKING:
    from longshore.apiserver.http.client_connection import Connection
    from longshore.apiserver.http.request import Request

_GUID: Final = b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11"
"""RFC 6455, section 1.3: shows the client that the server has understood the handshake."""
_VERSION: Final = "13"
_MAX_MESSAGE_BYTES: Final = 1 << 25
_READ_BYTES: Final = 1 << 16
_GOODBYE_SECONDS: Final = 2.0
"""For the client to answer that the socket is closed."""


def accept(connection: Connection, request: Request, protocol: str = "") -> WebSocket:
    """Answers the handshake; raises 400 for one that is none."""
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
        self._events: deque[Event] = deque()
        self._receiving = False
        self._ended = asyncio.Event()
        self._heard = True
        """Whether the client has said anything since the last ping."""

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
        """Reads no further until the client takes its answers: those that wait would fill the memory. After
        the goodbye of this side nothing more may be said."""
        if self._frames.state is ConnectionState.OPEN:
            self._connection.write(self._frames.send(ping.response()))
            await self._connection.drain()

    async def listen(self) -> None:
        """For a socket whose client has nothing to say: reads to the end, and pings. Drops a client that says
        nothing between two pings."""
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
            receiving.cancel()
            await asyncio.gather(receiving, return_exceptions=True)

    async def _receive_all(self) -> None:
        while await self.receive() is not None:
            pass

    async def send_bytes(self, data: bytes, seconds: float | None = None) -> None:
        """Raises TimeoutError when the client reads nothing for so many seconds."""
        self._connection.write(self._frames.send(BytesMessage(data)))
        await self._connection.drain(seconds)

    async def send_text(self, text: str, seconds: float | None = None) -> None:
        """Raises TimeoutError when the client reads nothing for so many seconds."""
        self._connection.write(self._frames.send(TextMessage(text)))
        await self._connection.drain(seconds)

    async def close(self) -> None:
        """Says that this was all, waits a moment for the client to agree, and hangs up."""
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
        """False when either side has done so before."""
        if self._frames.state is not ConnectionState.OPEN:
            return False
        self._connection.write(self._frames.send(CloseConnection(why)))
        return True

    async def _event(self) -> Event | None:
        while not self._events:
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
            self._events.extend(self._frames.events())
        return self._events.popleft()


def _joined(parts: list[bytes | str]) -> bytes | str:
    if len(parts) == 1:
        return parts[0]
    # The parts of one message are all texts or all bytes, which their type cannot say.
    return "".join(parts) if isinstance(parts[0], str) else b"".join(parts)  # type: ignore[arg-type]
