"""WebSocket messages with a channel each: the first byte says which, the rest is data.

`base64` forms are for browsers, whose messages are text: there the channel is a digit and the data base64.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import AsyncIterator
from typing import Final, Literal

import msgspec

from longshore.api.container_streams import Session
from longshore.api.types import Obj, encode
from longshore.apiserver.http.streams.duplex import Activity
from longshore.apiserver.http.streams.remote_command import size_of
from longshore.apiserver.http.websocket import WebSocket
from longshore.apiserver.subresources.link import Streams

STDIN, STDOUT, STDERR, ERROR, RESIZE, CLOSE = 0, 1, 2, 3, 4, 255
_NUMBER: Final = {"stdout": STDOUT, "stderr": STDERR}
_MESSAGE_BYTES: Final = 1 << 16


class Protocol(msgspec.Struct, frozen=True):
    """A subprotocol. Before version 4 errors are plain text; from version 5 a channel can be closed alone."""

    version: int
    base64: bool = False


EXEC: Final = {
    "v5.channel.k8s.io": Protocol(5),
    "v4.channel.k8s.io": Protocol(4),
    "v4.base64.channel.k8s.io": Protocol(4, base64=True),
    "channel.k8s.io": Protocol(1),
    "base64.channel.k8s.io": Protocol(1, base64=True),
    "": Protocol(1),
}
"""Subprotocols of exec and attach, the best first. A client that names none speaks the oldest."""
PORTS: Final = {
    "v4.channel.k8s.io": Protocol(4),
    "v4.base64.channel.k8s.io": Protocol(4, base64=True),
    "": Protocol(4),
}
"""Subprotocols of port-forward."""


class Channels:
    """The messages of one socket."""

    def __init__(self, socket: WebSocket, protocol: Protocol, activity: Activity) -> None:
        self._socket, self.protocol, self._activity = socket, protocol, activity

    async def send(self, channel: int, data: bytes) -> None:
        if not data:
            await self._send(channel, b"")
        for at in range(0, len(data), _MESSAGE_BYTES):
            await self._send(channel, data[at : at + _MESSAGE_BYTES])

    async def _send(self, channel: int, data: bytes) -> None:
        self._activity.touch()
        if self.protocol.base64:
            await self._socket.send_text(f"{channel}{base64.b64encode(data).decode()}")
        else:
            await self._socket.send_bytes(bytes((channel,)) + data)

    async def messages(self) -> AsyncIterator[tuple[int, bytes]]:
        """The client's messages until it closes. Text counts as bytes, since some clients send text."""
        while True:
            message = await self._socket.receive()
            self._activity.touch()
            if message is None:
                return
            data = message.encode() if isinstance(message, str) else message
            if not data:
                continue
            if self.protocol.base64:
                try:
                    yield data[0] - ord("0"), base64.b64decode(data[1:])
                except binascii.Error:
                    return
            else:
                yield data[0], data[1:]

    async def close(self) -> None:
        await self._socket.close()


class WebSocketTerminal:
    """A client of exec or attach that is connected by WebSocket."""

    def __init__(self, channels: Channels, streams: Streams) -> None:
        self._channels, self._streams = channels, streams

    async def greet(self) -> None:
        """Sends an empty message, for clients that wait for a first message."""
        streams = self._streams
        await self._channels.send(STDOUT if streams.stdout else STDERR if streams.stderr else ERROR, b"")

    async def send(self, stream: Literal["stdout", "stderr"], data: bytes) -> None:
        await self._channels.send(_NUMBER[stream], data)

    async def listen(self, session: Session) -> None:
        async for channel, data in self._channels.messages():
            if channel == STDIN and self._streams.stdin:
                if data:
                    await session.write(data)
            elif channel == RESIZE and self._streams.tty:
                size = _size(data)
                if size is not None:
                    await session.resize(*size)
            elif channel == CLOSE and self._channels.protocol.version >= 5 and data[:1] == bytes((STDIN,)):
                await session.close_input()

    async def finish(self, status: Obj) -> None:
        if self._channels.protocol.version >= 4:
            await self._channels.send(ERROR, encode(status))
        elif status["status"] != "Success":
            await self._channels.send(ERROR, status["message"].encode())
        await self._channels.close()


def _size(data: bytes) -> tuple[int, int] | None:
    try:
        return size_of(msgspec.json.decode(data, type=dict))
    except msgspec.MsgspecError:
        return None
