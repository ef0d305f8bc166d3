"""Connections to one server. Asks a fence before a write goes out, when nothing can delay it any more.

A peer that vanished silently (a load balancer that failed over) is noticed within 45 s, as in client-go:
by keep-alive on a quiet connection, by the user time-out where something was sent and never acknowledged.
"""

from __future__ import annotations

import socket
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

import aiohttp

if TYPE_CHECKING:
    from aiohttp.connector import Connection
    from aiohttp.tracing import Trace


KEEP_ALIVE: Final = {
    "TCP_KEEPIDLE": 15,
    "TCP_KEEPINTVL": 15,
    "TCP_KEEPCNT": 2,
    "TCP_USER_TIMEOUT": 30_000,
}
"""Seconds, seconds, probes, milliseconds."""


class Connector(aiohttp.TCPConnector):
    """A request that waited for a connection is asked about after the wait: the process may have been stopped
    meanwhile."""

    def __init__(self, fence: Callable[[], None] | None, **options: Any) -> None:
        super().__init__(**options, socket_factory=_socket)
        self._fence = fence

    async def connect(
        self,
        req: aiohttp.ClientRequest,
        traces: list[Trace],
        timeout: aiohttp.ClientTimeout,  # noqa: ASYNC109 # the name is aiohttp's
    ) -> Connection:
        connection = await super().connect(req, traces, timeout)
        if self._fence is not None and req.method != "GET":
            try:
                self._fence()
            except BaseException:
                connection.release()
                raise
        return connection


def _socket(address: tuple[Any, ...]) -> socket.socket:
    """A socket for an address as `getaddrinfo` gives it."""
    family, kind, protocol, *_ = address
    made = socket.socket(family, kind, protocol)
    keep_alive(made)
    return made


def keep_alive(made: socket.socket) -> None:
    """Lets the system notice a peer that vanished."""
    made.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for name, value in KEEP_ALIVE.items():
        if hasattr(socket, name):  # not every system has all of them
            made.setsockopt(socket.IPPROTO_TCP, getattr(socket, name), value)
