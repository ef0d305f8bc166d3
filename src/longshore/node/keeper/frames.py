"""The protocol of longshore and its keeper: frames of a length and a tuple, over a Unix socket of mode 0600.

The tuples are written with `marshal`, which needs no import and is the fastest codec Python has. `marshal`
must not read untrusted bytes; here both ends are the same user's, and the directory of the socket is 0700.
The format is pinned, so the two ends may run different versions of Python.

Requests are `(op, id, payload)`. Answers are `("ok", id, payload)` or `("refused", id, (reason, message))`;
the keeper also sends `("ended", 0, [state, …])`.
"""

from __future__ import annotations

import marshal
import os
import socket

TYPE_CHECKING = False

if TYPE_CHECKING:
    from typing import Any, NotRequired, TypedDict

    Message = tuple[str, int, Any]
    State = tuple[str, str, int, float, float, int, int, str, str]
    """key, phase, pid, started, finished, exit code, signal, reason, message."""

    class Walls(TypedDict):
        """The isolation of a container."""

        level: str
        """`process` or `full`."""
        privileged: bool
        host_pid: bool
        host_ipc: bool
        share_pid: bool
        """Whether it shares a PID namespace with the other containers of its pod."""
        siblings: bool
        """Whether its pod has other containers, with which it shares IPC and shared memory."""
        no_network: bool
        capabilities: int
        """The capabilities that it may have, a bit each."""
        no_new_privileges: bool
        filtered: bool
        hidden: list[str]
        """Directories and files that containers with walls do not see."""

    class Spec(TypedDict):
        """One container, as the keeper sees it."""

        key: str
        argv: list[str]
        env: dict[str, str]
        cwd: str
        log: str
        whole_log: NotRequired[bool]
        separate_streams: NotRequired[bool]
        """Only with `whole_log`."""
        mounts: list[tuple[str, str, bool]]
        """Source, target, read-only."""
        termination: tuple[str, str] | None
        """A file of this machine, and where the container sees it."""
        hostname: str
        uid: int | None
        gid: int | None
        groups: list[int]
        read_only_root: bool
        memory: int | None
        cpu: int | None
        cpu_request: int | None
        stdin: bool
        stdin_once: bool
        tty: bool
        target: NotRequired[str]
        """The key of a container that it lives with, or ""."""
        walls: NotRequired[Walls]
        """Missing for a container that is not isolated."""


VERSION = 4
"""Version of the protocol. It is increased when a message changes its meaning, or containers are started in
another way. A keeper of another version starts none; requests about its containers (hello, signal, exec,
attach, usage, remove, stop) keep their meaning."""

SOCKET = "socket"
"""The name of the socket in the keeper's directory."""

_FORMAT = 2  # the last format without references between values; stable since Python 2.5
_MAX_DESCRIPTORS = 4
_CHUNK_BYTES = 1 << 16  # malloc keeps blocks of this size, and maps larger ones for each message
MAX_REQUEST_BYTES = 16 << 20
"""The longest frame to the keeper, which holds it in memory; kubelets have the same limit."""


def pack(message: Message) -> bytes:
    body = marshal.dumps(message, _FORMAT)
    return len(body).to_bytes(4, "little") + body


class FrameTooLong(Exception):
    """A frame is longer than its reader accepts. longshore sends none, so the connection must be closed."""


class Unpacker:
    """Cuts a stream of bytes into messages, in linear time. `limit` is the longest frame that it accepts."""

    __slots__ = ("_limit", "_missing", "_rest")

    def __init__(self, limit: int = 1 << 32) -> None:
        self._limit = limit
        self._rest = bytearray()
        self._missing = 0
        """Bytes that are missing to complete what is in `_rest`."""

    def feed(self, data: bytes) -> list[Message]:
        """The messages that are complete by now. Raises FrameTooLong."""
        rest = self._rest
        if rest:
            rest += data
            self._missing -= len(data)
            if self._missing > 0:
                return []
            data = bytes(rest)
            rest.clear()
        messages: list[Message] = []
        at, end = 0, len(data)
        stop = 4
        while end - at >= 4:
            length = int.from_bytes(data[at : at + 4], "little")
            if length > self._limit:
                raise FrameTooLong(f"a frame of {length} bytes; {self._limit} are accepted")
            stop = at + 4 + length
            if stop > end:
                break
            messages.append(marshal.loads(data[at + 4 : stop]))
            at = stop
            stop = at + 4
        if at < end:
            rest += data[at:]
            self._missing = stop - end
        return messages


def received(sock: socket.socket) -> tuple[bytes, list[int]] | None:
    """The bytes and descriptors that have arrived; no bytes if the connection has ended, None if nothing has
    arrived."""
    try:
        data, descriptors, _, _ = socket.recv_fds(sock, _CHUNK_BYTES, _MAX_DESCRIPTORS)
    except BlockingIOError:
        return None
    except OSError:
        return b"", []
    for fd in descriptors:
        os.set_inheritable(fd, False)  # recv_fds of Python 3.11 does not hand flags on
    return data, descriptors


class Refused(Exception):
    """The container was not started. Reason and message are for the status of the container."""

    def __init__(self, reason: str, message: str) -> None:
        super().__init__(message)
        self.reason = reason
        self.message = message


USUAL_CAPABILITIES = 0xA00405FB
"""CHOWN, DAC_OVERRIDE, FOWNER, FSETID, KILL, SETGID, SETUID, SETPCAP, NET_BIND_SERVICE, SYS_CHROOT,
AUDIT_WRITE and SETFCAP, a bit each: containerd's defaults without MKNOD and NET_RAW. containerd restricts
devices and gives containers their own network; ours could open the machine's disks, and read the packets of
other programs."""
