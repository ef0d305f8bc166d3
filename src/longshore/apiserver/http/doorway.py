"""The way in for connections that are not yet encrypted: TLS begins with the first byte of a client.

TLS for a connection costs 50 kB, and an event loop that accepts by itself begins it for anybody: 9,500
clients that said nothing took 280 MB. Here a silent one costs a descriptor. There are so many at a time,
silent ones and handshakes, and the oldest goes for one more: whoever means it is through in milliseconds, so
the oldest of a thousand is nobody's.
"""

from __future__ import annotations

import asyncio
import contextlib
import socket
import ssl
from collections.abc import Callable
from typing import Final

from longshore.apiserver.http.timeouts import Timeouts

MAX_SILENT: Final = 1024
"""Connections on which nothing has come. One more, and the oldest of them ends."""
MAX_HANDSHAKES: Final = 1024
"""Handshakes under way. One more, and the oldest of them ends."""
_MAX_ACCEPTED: Final = 64
"""Connections that are taken in one turn of the loop."""
_PAUSE_SECONDS: Final = 1.0
"""Until the next try, where the system has no descriptor left."""


class Doorway:
    """Accepts what comes to a listening socket, which it owns, until it is closed."""

    def __init__(
        self,
        listening: socket.socket,
        protocol: Callable[[], asyncio.BaseProtocol],
        tls: ssl.SSLContext,
        timeouts: Timeouts,
    ) -> None:
        self._listening, self._protocol, self._tls = listening, protocol, tls
        self._seconds = min(timeouts.handshake, timeouts.head)
        """For the first byte, and for the handshake."""
        self._shutdown_seconds = timeouts.linger
        self._loop = asyncio.get_running_loop()
        self._pause: asyncio.TimerHandle | None = None
        self._silent: dict[socket.socket, float] = {}
        """The oldest first, with the time at which each is given up."""
        self._next_end: asyncio.TimerHandle | None = None
        self._handshakes: dict[asyncio.Task[None], socket.socket] = {}
        self._loop.add_reader(listening, self._accept)

    def close(self) -> None:
        self._loop.remove_reader(self._listening)
        self._listening.close()
        for timer in (self._pause, self._next_end):
            if timer is not None:
                timer.cancel()
        for client in [*self._silent]:
            self._give_up(client)
        for task in self._handshakes:
            task.cancel()

    def _accept(self) -> None:
        for _ in range(_MAX_ACCEPTED):
            try:
                client, _ = self._listening.accept()
            except (BlockingIOError, InterruptedError, ConnectionAbortedError):
                return
            except OSError:
                self._loop.remove_reader(self._listening)
                self._pause = self._loop.call_later(_PAUSE_SECONDS, self._resume)
                return
            client.setblocking(False)
            self._silent[client] = self._loop.time() + self._seconds
            self._loop.add_reader(client, self._first_byte, client)
            if len(self._silent) > MAX_SILENT:
                self._give_up(next(iter(self._silent)))
            if self._next_end is None:
                self._next_end = self._loop.call_later(self._seconds, self._end_silent)

    def _resume(self) -> None:
        self._pause = None
        self._loop.add_reader(self._listening, self._accept)

    def _end_silent(self) -> None:
        now = self._loop.time()
        self._next_end = None
        while self._silent:
            client, end = next(iter(self._silent.items()))
            if end > now:
                self._next_end = self._loop.call_at(end, self._end_silent)
                return
            self._give_up(client)

    def _give_up(self, client: socket.socket) -> None:
        del self._silent[client]
        self._loop.remove_reader(client)
        client.close()

    def _first_byte(self, client: socket.socket) -> None:
        del self._silent[client]
        self._loop.remove_reader(client)
        task = self._loop.create_task(self._shake_hands(client))
        self._handshakes[task] = client
        task.add_done_callback(self._forget)
        if len(self._handshakes) > MAX_HANDSHAKES:
            self._break_off()

    def _forget(self, task: asyncio.Task[None]) -> None:
        self._handshakes.pop(task, None)

    def _break_off(self) -> None:
        """Ends the oldest as if its client had gone: one that is cancelled leaves its memory to a timer."""
        client = self._handshakes.pop(next(iter(self._handshakes)))
        with contextlib.suppress(OSError):
            client.shutdown(socket.SHUT_RDWR)

    async def _shake_hands(self, client: socket.socket) -> None:
        try:
            await self._loop.connect_accepted_socket(
                self._protocol,
                client,
                ssl=self._tls,
                ssl_handshake_timeout=self._seconds,
                ssl_shutdown_timeout=self._shutdown_seconds,
            )
        except (OSError, asyncio.CancelledError):  # it went, spoke no TLS, or was too slow
            client.close()
