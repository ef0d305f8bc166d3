"""The listening sockets and their connections: TLS, and an orderly end."""

from __future__ import annotations

import asyncio
import os
import socket
import ssl
from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from longshore.apiserver.http import client_connection
from longshore.apiserver.http.doorway import Doorway
from longshore.apiserver.http.timeouts import Timeouts

if TYPE_CHECKING:
    from longshore.apiserver.http.begun import Front
    from longshore.apiserver.http.client_connection import Connection

_BACKLOG: Final = 1024
_GOODBYE_SECONDS: Final = 0.2
"""Seconds for clients to close their side, once all requests are answered."""
_LOOK_SECONDS: Final = 0.01


class Listener:
    """Serves the answers of `front` on each address on which it is started, until it is closed. The front is
    made for the first connection."""

    def __init__(self, front: Callable[[], Front], *, tls: ssl.SSLContext | None, timeouts: Timeouts) -> None:
        self._make_front, self._tls, self._timeouts = front, tls, timeouts
        self._front: Front | None = None
        self._connections: set[Connection] = set()
        self._newcomers: dict[Connection, None] = {}
        self._servers: list[asyncio.Server] = []
        self._doorways: list[Doorway] = []

    async def start(self, host: str, port: int, passed: socket.socket | None = None) -> int:
        """Begins to listen and returns the port (the one chosen, for port 0). `passed` is a socket of another
        owner that listens there already."""
        loop = asyncio.get_running_loop()

        def protocol() -> Connection:
            front = self._front = self._front or self._make_front()
            return client_connection.Connection(
                front, self._timeouts, loop, self._connections, self._newcomers
            )

        is_plain = self._tls is None
        if passed is None:
            server = await loop.create_server(protocol, host, port, backlog=_BACKLOG, start_serving=is_plain)
        else:
            server = await loop.create_server(protocol, sock=passed, backlog=_BACKLOG, start_serving=is_plain)
        self._servers.append(server)
        if self._tls is not None:
            for bound in server.sockets:
                listening = socket.socket(fileno=os.dup(bound.fileno()))
                listening.setblocking(False)
                listening.listen(_BACKLOG)
                self._doorways.append(Doorway(listening, protocol, self._tls, self._timeouts))
        chosen: int = server.sockets[0].getsockname()[1]
        return chosen

    @property
    def receives(self) -> bool:
        """Whether only part of a request has arrived, on any connection."""
        return any(each.receives for each in self._connections)

    async def close(self) -> None:
        """Stops listening, ends all streams, lets running requests finish for a moment, then hangs up."""
        if self._front is not None:
            self._front.close()
        for doorway in self._doorways:
            doorway.close()
        for server in self._servers:
            server.close()
        for connection in tuple(self._connections):
            connection.stop()
        await _until(lambda: not any(each.busy for each in self._connections), self._timeouts.stop)
        await _until(lambda: not self._connections, _GOODBYE_SECONDS)
        for connection in tuple(self._connections):
            connection.abort()
        await asyncio.sleep(0)  # ends requests that were cut off
        if self._front is not None:
            self._front.close()  # a request may have begun a stream after the streams were closed
        await asyncio.sleep(0)  # closed connections end in the next turn


async def _until(condition: Callable[[], bool], seconds: float) -> None:
    loop = asyncio.get_running_loop()
    end = loop.time() + seconds
    while not condition() and loop.time() < end:  # noqa: ASYNC110 - of many connections, once
        await asyncio.sleep(_LOOK_SECONDS)
