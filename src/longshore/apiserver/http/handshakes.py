"""TLS handshakes under way: a bounded number at a time, so that a flood of them fills no memory.

A handshake takes 80 kB from the client's first record on. A client beyond the limit waits, at the cost of a
descriptor, until a handshake ends; the newest client is served first. While clients wait, the oldest
handshake is broken off if it is silent for longer than the current patience. A handshake that succeeds raises
the patience to a multiple of its own duration, so clients on a busy machine get the time they need. A
handshake that is broken off halves it, so a flood of silent clients is soon cut short.
"""

from __future__ import annotations

import asyncio
import contextlib
import socket
import ssl
from collections.abc import Callable
from typing import Final

from longshore.apiserver.http.timeouts import Timeouts

MAX_HANDSHAKES: Final = 256
"""The most handshakes under way. They take some 20 MB."""
_MIN_PATIENCE_SECONDS: Final = 0.1
_MAX_PATIENCE_SECONDS: Final = 2.0
_PATIENCE_FACTOR: Final = 4
"""The patience after a handshake that succeeds, as a multiple of its duration."""
_MAX_BEGUN: Final = 4
"""Handshakes that are begun in one turn of the loop, at 0.7 ms each. Those under way go on in the next."""


class Handshakes:
    """Takes connections whose first record has arrived, until it is closed."""

    def __init__(
        self, protocol: Callable[[], asyncio.BaseProtocol], tls: ssl.SSLContext, timeouts: Timeouts
    ) -> None:
        self._protocol, self._tls, self._timeouts = protocol, tls, timeouts
        self._loop = asyncio.get_running_loop()
        self._waiting: dict[socket.socket, float] = {}
        """Connections that wait for a handshake, the oldest first, with the time at which each is closed."""
        self._under_way: dict[asyncio.Task[None], tuple[socket.socket, float]] = {}
        """Handshakes under way, the oldest first, with the time at which each began."""
        self._patience = _MAX_PATIENCE_SECONDS
        """Seconds that a handshake has while others wait for theirs."""
        self._next: asyncio.Handle | None = None
        """The next call of `_go_on`: in the next turn, or when the patience with the oldest ends."""

    def __len__(self) -> int:
        """The number of connections that wait for their handshake."""
        return len(self._waiting)

    def add(self, client: socket.socket) -> None:
        """Begins the handshake of this client, at once or in its turn."""
        self._waiting[client] = self._loop.time() + self._timeouts.handshake
        self._go_on_soon()

    def give_up_oldest(self) -> None:
        """Ends the connection that has waited longest."""
        client = next(iter(self._waiting))
        del self._waiting[client]
        client.close()

    def close(self) -> None:
        if self._next is not None:
            self._next.cancel()
        while self._waiting:
            self.give_up_oldest()
        for task in self._under_way:
            task.cancel()

    def _go_on_soon(self) -> None:
        if self._next is None:
            self._next = self._loop.call_soon(self._go_on)

    def _go_on(self) -> None:
        """Begins the handshakes that can be begun in this turn."""
        self._next = None
        now = self._loop.time()
        while self._waiting and next(iter(self._waiting.values())) <= now:
            self.give_up_oldest()
        for _ in range(min(_MAX_BEGUN, len(self._waiting))):
            if len(self._under_way) >= MAX_HANDSHAKES:
                oldest, (client, began) = next(iter(self._under_way.items()))
                if began + self._patience > now:
                    self._next = self._loop.call_at(began + self._patience, self._go_on)
                    return
                if _has_answered(client):  # this process has not read it yet
                    del self._under_way[oldest]
                    self._under_way[oldest] = (client, now)
                    break
                self._break_off(oldest, client)
                self._patience = max(_MIN_PATIENCE_SECONDS, self._patience / 2)
            client, _ = self._waiting.popitem()
            task = self._loop.create_task(self._shake_hands(client))
            self._under_way[task] = (client, now)
            task.add_done_callback(self._forget)
        if self._waiting:
            self._go_on_soon()

    def _forget(self, task: asyncio.Task[None]) -> None:
        self._under_way.pop(task, None)
        if self._waiting:
            self._go_on_soon()

    def _break_off(self, task: asyncio.Task[None], client: socket.socket) -> None:
        """Ends a handshake as if its client had left. A cancelled one would keep its memory for a while."""
        del self._under_way[task]
        with contextlib.suppress(OSError):
            client.shutdown(socket.SHUT_RDWR)

    async def _shake_hands(self, client: socket.socket) -> None:
        began = self._loop.time()
        try:
            await self._loop.connect_accepted_socket(
                self._protocol,
                client,
                ssl=self._tls,
                ssl_handshake_timeout=self._timeouts.handshake,
                ssl_shutdown_timeout=self._timeouts.linger,
            )
        except (OSError, asyncio.CancelledError):  # the client left, spoke no TLS, or was too slow
            client.close()
            return
        took = _PATIENCE_FACTOR * (self._loop.time() - began)
        self._patience = max(self._patience, min(took, _MAX_PATIENCE_SECONDS))


def _has_answered(client: socket.socket) -> bool:
    """Whether bytes of a client wait to be read."""
    try:
        return bool(client.recv(1, socket.MSG_PEEK))
    except OSError:
        return False
