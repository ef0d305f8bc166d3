"""One peer of the keeper: its messages in, answers out, never waiting for it."""

from __future__ import annotations

import os
import socket
from collections.abc import Callable

from longshore.node.keeper.talking import frames
from longshore.node.keeper.talking.loop import READ, WRITE, Loop

TYPE_CHECKING = False
if TYPE_CHECKING:
    from longshore.node.keeper.talking.frames import Message, State

    Late = tuple[float, int, State]
    """Until when an answer waits at most, the number of its request, the state that it tells."""

_MAX_DESCRIPTORS = 4
_CHUNK = 1 << 16  # malloc has that at hand; more would be mapped and given back for every message


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
        self._unpacker = frames.Unpacker()
        self._unsent = b""
        self.descriptors: list[int] = []
        """The descriptors that came with the peer's messages, in order; a user of one takes it out."""
        self.on_close: Callable[[], None] | None = None
        """Called when the peer has gone, for its session."""
        self.late: list[Late] = []
        """Answers to starts that wait, in their order."""
        self.subscribed = False
        """Whether it wants to hear which containers end."""
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
            self._unsent = data[sent:]
            self._loop.change(self._fd, READ | WRITE)

    def send_descriptors(self, data: bytes, descriptors: list[int]) -> None:
        """With the first message of a session, when nothing else waits to be sent."""
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
            unsent, self._unsent = self._unsent, b""
            self._loop.change(self._fd, READ)
            self.send(unsent)
            if self._fd < 0:
                return
        if not mask & ~WRITE:
            return
        try:
            data, descriptors, _, _ = socket.recv_fds(self._sock, _CHUNK, _MAX_DESCRIPTORS)
        except BlockingIOError:
            return
        except OSError:
            data, descriptors = b"", []
        for fd in descriptors:
            os.set_inheritable(fd, False)  # recv_fds of Python 3.11 does not hand flags on
        self.descriptors += descriptors
        if not data:
            self.close()
            return
        messages = self._unpacker.feed(data)
        if messages:
            self._handle(self, messages)
