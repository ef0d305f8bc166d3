"""Accepts connections before TLS: TLS begins when a client's whole first record has arrived.

TLS for a connection costs 80 kB, and an event loop that accepts by itself begins it at once: 9,500 silent
clients took 280 MB. Here a client that has not sent its whole first record costs only a descriptor: the
kernel keeps the bytes, and reports them once there are enough. The number of such connections is limited, and
a new one replaces the oldest: a real client sends its record within milliseconds.
"""

from __future__ import annotations

import asyncio
import socket
import ssl
from collections.abc import Callable
from typing import Final

from longshore.apiserver.http import handshakes
from longshore.apiserver.http.timeouts import Timeouts

MAX_SILENT: Final = 1024
"""Limit of connections without a whole record, and of those waiting for a handshake; closes the oldest."""
_MAX_ACCEPTED: Final = 64
"""Connections that are accepted in one turn of the loop."""
_PAUSE_SECONDS: Final = 1.0
"""Pause before the next accept if the system has no descriptor left."""
_HEADER_BYTES: Final = 5
"""Header of a TLS record: one byte for its type, two for its version, two for its length."""
_HANDSHAKE: Final = 0x16
"""The type of a record that begins TLS. Other bytes go to TLS at once, which answers with an alert."""
_MAX_RECORD_BYTES: Final = 1 << 14


class Doorway:
    """Accepts the connections of a listening socket, which it owns, until it is closed."""

    def __init__(
        self,
        listening: socket.socket,
        protocol: Callable[[], asyncio.BaseProtocol],
        tls: ssl.SSLContext,
        timeouts: Timeouts,
    ) -> None:
        self._listening = listening
        self._seconds = min(timeouts.handshake, timeouts.head)
        """Seconds that a client has for its first record."""
        self._loop = asyncio.get_running_loop()
        self._pause: asyncio.TimerHandle | None = None
        self._silent: dict[socket.socket, float] = {}
        """Connections without a whole record, the oldest first, with the time at which each is closed."""
        self._next_end: asyncio.TimerHandle | None = None
        self._protocol, self._tls, self._timeouts = protocol, tls, timeouts
        self._handshakes: handshakes.Handshakes | None = None
        self._loop.add_reader(listening, self._accept)

    def close(self) -> None:
        self._loop.remove_reader(self._listening)
        self._listening.close()
        for timer in (self._pause, self._next_end):
            if timer is not None:
                timer.cancel()
        for client in [*self._silent]:
            self._give_up(client)
        if self._handshakes is not None:
            self._handshakes.close()

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
            _wake_at(client, _HEADER_BYTES)
            self._silent[client] = self._loop.time() + self._seconds
            self._loop.add_reader(client, self._some_bytes, client, _HEADER_BYTES)
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

    def _some_bytes(self, client: socket.socket, count: int) -> None:
        """Called when `count` bytes have arrived on a connection, or it has ended."""
        try:
            came = client.recv(_HEADER_BYTES + _MAX_RECORD_BYTES, socket.MSG_PEEK)
        except (BlockingIOError, InterruptedError):
            return
        except OSError:
            came = b""
        if len(came) < count:
            self._give_up(client)  # it ended
            return
        record = _HEADER_BYTES + min(int.from_bytes(came[3:_HEADER_BYTES]), _MAX_RECORD_BYTES)
        if came[0] == _HANDSHAKE and len(came) < record:
            _wake_at(client, record)
            self._loop.add_reader(client, self._some_bytes, client, record)
            return
        del self._silent[client]
        self._loop.remove_reader(client)
        _wake_at(client, 1)
        if self._handshakes is None:
            self._handshakes = handshakes.Handshakes(self._protocol, self._tls, self._timeouts)
        if len(self._handshakes) >= MAX_SILENT:
            self._handshakes.give_up_oldest()
        self._handshakes.add(client)


def _wake_at(client: socket.socket, count: int) -> None:
    """Has the kernel report a connection as readable once `count` bytes have arrived, or no more will."""
    client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVLOWAT, count)
