"""The listening sockets and their connections: TLS, and an orderly end."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Callable
from typing import Any, Final

from longshore.apiserver.http.begun import Front
from longshore.apiserver.http.client_connection import Connection
from longshore.apiserver.http.timeouts import Timeouts

_BACKLOG: Final = 1024
_GOODBYE_SECONDS: Final = 0.2
"""For clients to close their side, once all requests are answered."""
_LOOK_SECONDS: Final = 0.01


class Listener:
    """Serves what `front` answers until it is closed, on each address that it is started on."""

    def __init__(self, front: Front, *, tls: ssl.SSLContext | None, timeouts: Timeouts) -> None:
        self._front, self._tls, self._timeouts = front, tls, timeouts
        self._connections: set[Connection] = set()
        self._newcomers: dict[Connection, None] = {}
        self._servers: list[asyncio.Server] = []

    async def start(self, host: str, port: int) -> int:
        """Begins to listen and returns the port (the one chosen, for port 0)."""
        loop = asyncio.get_running_loop()
        limits: dict[str, Any] = {}
        if self._tls is not None:
            limits["ssl_handshake_timeout"] = min(self._timeouts.handshake, self._timeouts.head)
            limits["ssl_shutdown_timeout"] = self._timeouts.linger
        server = await loop.create_server(
            lambda: Connection(self._front, self._timeouts, loop, self._connections, self._newcomers),
            host,
            port,
            ssl=self._tls,
            backlog=_BACKLOG,
            **limits,
        )
        self._servers.append(server)
        chosen: int = server.sockets[0].getsockname()[1]
        return chosen

    @property
    def receives(self) -> bool:
        """Whether a request has come in part, on any connection."""
        return any(each.receives for each in self._connections)

    async def close(self) -> None:
        """Stops listening, ends all streams, lets running requests finish for a moment, then hangs up."""
        self._front.close()
        for server in self._servers:
            server.close()
        for connection in tuple(self._connections):
            connection.stop()
        await _until(lambda: not any(each.busy for each in self._connections), self._timeouts.stop)
        await _until(lambda: not self._connections, _GOODBYE_SECONDS)
        for connection in tuple(self._connections):
            connection.abort()
        await asyncio.sleep(0)  # requests that were cut off end
        self._front.close()  # a request that ran on may have begun what was ended above
        await asyncio.sleep(0)  # and what was closed is closed in the next turn


async def _until(condition: Callable[[], bool], seconds: float) -> None:
    loop = asyncio.get_running_loop()
    end = loop.time() + seconds
    while not condition() and loop.time() < end:  # noqa: ASYNC110 - of many connections, once
        await asyncio.sleep(_LOOK_SECONDS)
