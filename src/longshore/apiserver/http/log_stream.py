"""Logs over HTTP: sends plain text as it arrives, until the log ends, the client goes or stops reading, or
the server stops. A short, complete log is sent in one piece. A WebSocket gets a binary message for every
piece, as in Kubernetes: a browser allows more WebSockets than plain connections."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from typing import TYPE_CHECKING, Final

from longshore.apiserver.http.open_streams import PodStreams, until_closing
from longshore.apiserver.http.response import NOSNIFF, Fields, Reply

if TYPE_CHECKING:
    from longshore.apiserver.http.client_connection import Connection
    from longshore.apiserver.http.request import Request
    from longshore.apiserver.http.sender import Sender
    from longshore.apiserver.http.websocket import WebSocket

_MEDIA_TYPE: Final = "text/plain"
_WHOLE_BYTES: Final = 1 << 16


class Log:
    """One log that a client asked for. `begin`, then either `send` or `close`."""

    def __init__(
        self, text: AsyncGenerator[bytes, None], streams: PodStreams, client: str, headers: Fields
    ) -> None:
        self._text, self._streams, self._client = text, streams, client
        self._headers = headers + NOSNIFF
        self._first = b""

    async def begin(self, *, follow: bool) -> Reply | None:
        """Opens the log. Returns the whole answer if it is short and not to be followed, else None."""
        try:
            self._streams.opened(self._client)
        except BaseException:
            await self._text.aclose()
            raise
        if follow:
            return None
        try:
            async for chunk in self._text:
                self._first += chunk
                if len(self._first) >= _WHOLE_BYTES:
                    return None
        except BaseException:
            await self.close()
            raise
        await self.close()
        return Reply(200, _MEDIA_TYPE, self._first, self._headers)

    async def send(self, sender: Sender) -> None:
        """Sends the log to its end."""
        try:
            sender.start(_MEDIA_TYPE, self._headers)
            await until_closing(asyncio.ensure_future(self._send(sender)), self._streams.closing)
        finally:
            await self.close()

    async def _send(self, sender: Sender) -> None:
        await sender.send(self._first)
        async for chunk in self._text:
            await sender.send(chunk)

    async def talk(self, connection: Connection, request: Request) -> None:
        """Sends the log to its end over a WebSocket, whose client has to answer pings."""
        from longshore.apiserver.http import websocket

        try:
            socket = websocket.accept(connection, request)
            sending = asyncio.ensure_future(self._send_messages(socket, connection.stuck_seconds))
            listening = asyncio.ensure_future(socket.listen())
            await until_closing(sending, self._streams.closing, listening)
            await socket.close()
        finally:
            await self.close()

    async def _send_messages(self, socket: WebSocket, stuck_seconds: float) -> None:
        async for chunk in self._text:
            await socket.send_bytes(chunk, stuck_seconds)

    async def close(self) -> None:
        """Closes the log."""
        self._streams.ended(self._client)
        await self._text.aclose()
