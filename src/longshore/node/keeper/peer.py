"""The connection to one peer of the keeper: reads its messages and sends answers, without blocking."""

from __future__ import annotations

import socket
from collections.abc import Callable

from longshore.node.keeper import frames
from longshore.node.keeper.loop import READ, WRITE, Loop

TYPE_CHECKING = False
if TYPE_CHECKING:
    from longshore.node.keeper.frames import Message, State

    Late = tuple[float, int, State]
    """The time until which an answer waits at most, the number of its request, and the state in it."""


class Connection:
    def __init__(
        self,
        loop: Loop,
        sock: socket.socket,
        handle: Callable[[Connection, list[Message]], None],
        closed: Callable[[Connection], None],
    ) -> None:
        sock.setblocking(False)
        self._loop = loop
        self._sock = sock
        self._fd = sock.fileno()
        self._handle = handle
        self._closed = closed
        self._unpacker = frames.Unpacker(frames.MAX_REQUEST_BYTES)
        self._unsent = bytearray()
        self.descriptors: list[int] = []
        """The descriptors that came with the peer's messages, in order; the code that uses one removes it."""
        self.on_close: Callable[[], None] | None = None
        """Called when the peer has disconnected."""
        self.late: list[Late] = []
        """Delayed answers to starts, in order."""
        self.subscribed = False
        """Whether the peer gets the ends of containers."""
        loop.add(self._fd, self._ready)

    @property
    def is_closed(self) -> bool:
        return self._fd < 0

    @property
    def backlog(self) -> int:
        return len(self._unsent)

    def send(self, data: bytes) -> None:
        if self._fd < 0 or not data:
            return
        if self._unsent:
            self._unsent += data
            return
        try:
            sent = self._sock.send(data)
        except BlockingIOError:
            sent = 0
        except OSError:
            self.close()
            return
        if sent < len(data):
            self._unsent += data[sent:]
            self._loop.change(self._fd, READ | WRITE)

    def send_descriptors(self, data: bytes, descriptors: list[int]) -> None:
        """Sends descriptors with the first message of a session. Nothing else may wait to be sent."""
        try:
            socket.send_fds(self._sock, [data], descriptors)
        except OSError:
            self.close()

    def close(self) -> None:
        if self._fd < 0:
            return
        self._loop.remove(self._fd)
        self._fd = -1
        self._sock.close()
        if self.on_close is not None:
            self.on_close()
        self._closed(self)

    def _ready(self, mask: int) -> None:
        if mask & WRITE:
            self._send_on()
            if self._fd < 0:
                return
        if not mask & ~WRITE:
            return
        if (found := frames.received(self._sock)) is None:
            return
        data, descriptors = found
        self.descriptors += descriptors
        if not data:
            self.close()
            return
        try:
            messages = self._unpacker.feed(data)
        except frames.FrameTooLong:
            self.close()
            return
        if messages:
            self._handle(self, messages)

    def _send_on(self) -> None:
        """Sends more of the waiting bytes. `del` removes the sent ones without moving the rest."""
        try:
            del self._unsent[: self._sock.send(self._unsent)]
        except BlockingIOError:
            return
        except OSError:
            self.close()
            return
        if not self._unsent:
            self._loop.change(self._fd, READ)
