"""Watches on the wire: one JSON document a line, many lines a write.

A WebSocket gets a text message for every change instead. store/watch.py cuts off a watcher that reads too
slowly, client_connection.py one that reads nothing.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine
from functools import partial
from typing import TYPE_CHECKING, Any

from longshore.apiserver.http import respond, watch_lines
from longshore.apiserver.http.fanout import bundles, chunk, lines
from longshore.apiserver.http.open_streams import Watching, until_closing
from longshore.apiserver.rest.watch import Changes

if TYPE_CHECKING:
    from longshore.apiserver.api import Api
    from longshore.apiserver.http.client_connection import Connection
    from longshore.apiserver.http.request import Request
    from longshore.apiserver.http.sender import Sender
    from longshore.apiserver.http.websocket import WebSocket
    from longshore.apiserver.request.call import Call
    from longshore.apiserver.request.negotiate import Output


class Watch:
    """One requested watch. After each write it pauses together with all other watchers, so that the changes
    which arrive meanwhile are sent in one bundle."""

    def __init__(
        self, api: Api, call: Call, output: Output, changes: AsyncIterator[Changes], watching: Watching
    ) -> None:
        self._call, self._output, self._changes, self._watching = call, output, changes, watching
        self._to_bytes = watch_lines.renderer(api, call, output)

    async def send(self, sender: Sender) -> None:
        """Sends changes until the watch ends, the client goes or gets stuck, or the server stops."""
        sender.start(self._output.media_type, respond.warning_headers(self._call.warnings))
        to_chunk: Callable[[Changes], bytes] = partial(
            chunk if sender.chunked else lines, render=self._to_bytes
        )
        form = watch_lines.shared_as(self._call, self._output)
        if sender.chunked and form:
            to_chunk = partial(self._watching.fanout.chunk, form, render=self._to_bytes)
        await self._until_ended(self._send_lines(sender, to_chunk))

    async def talk(self, connection: Connection, request: Request) -> None:
        """Sends the changes over a WebSocket, whose client has to answer pings."""
        from longshore.apiserver.http import websocket

        socket = websocket.accept(connection, request)
        listening = asyncio.ensure_future(socket.listen())
        await self._until_ended(self._send_messages(socket, connection.stuck_seconds), listening)
        await socket.close()

    async def _until_ended(self, sending: Coroutine[Any, Any, None], *others: asyncio.Future[None]) -> None:
        self._watching.began(self._call)
        try:
            await until_closing(asyncio.ensure_future(sending), self._watching.closing, *others)
        finally:
            self._watching.ended(self._call)

    async def _send_lines(self, sender: Sender, to_chunk: Callable[[Changes], bytes]) -> None:
        pause = self._watching.fanout.pause
        async for batch in self._changes:
            for bundle in bundles(batch):
                if data := to_chunk(bundle):
                    await sender.send_framed(data)
            await pause()

    async def _send_messages(self, socket: WebSocket, stuck_seconds: float) -> None:
        async for batch in self._changes:
            for change in batch:
                text = self._to_bytes(change).decode().rstrip("\n")
                await socket.send_text(text, stuck_seconds)
            await self._watching.fanout.pause()
