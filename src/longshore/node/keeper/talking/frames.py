"""How longshore and its keeper speak: frames of a length and a tuple, over a Unix socket of mode 0600.

The tuples are written with `marshal`, which needs no import and is the fastest codec Python has. It must not
read what strangers write; here both ends are the same user's, and the directory of the socket is 0700. The
format is pinned, so the two ends may run different versions of Python.

Requests are `(op, id, payload)`. Answers are `("ok", id, payload)` or `("refused", id, (reason, message))`;
unasked come `("ended", 0, [state, …])`.
"""

from __future__ import annotations

import marshal

TYPE_CHECKING = False
if TYPE_CHECKING:  # typing would be a third of what the keeper imports
    from typing import Any, NotRequired, TypedDict

    Message = tuple[str, int, Any]
    State = tuple[str, str, int, float, float, int, int, str, str]
    """key, phase, pid, started, finished, exit code, signal, reason, message."""

    class Walls(TypedDict):
        """The walls that keep a container to itself."""

        level: str
        """`process` or `full`."""
        privileged: bool
        host_pid: bool
        host_ipc: bool
        share_pid: bool
        """With the other containers of its pod."""
        siblings: bool
        """Whether its pod has other containers, with which it shares IPC and shared memory."""
        no_network: bool
        capabilities: int
        """A bit each."""
        no_new_privileges: bool
        filtered: bool
        hidden: list[str]
        """Directories that containers of level `full` do not see."""

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
        """None for a process of the machine like any other."""


VERSION = 3
"""Both ends must have the same; raised when a message changes its meaning."""

SOCKET = "socket"
"""The name of the socket in the keeper's directory."""

_FORMAT = 2  # the last without references between values: smaller code on both sides, and stable since 2.5


def pack(message: Message) -> bytes:
    body = marshal.dumps(message, _FORMAT)
    return len(body).to_bytes(4, "little") + body


class Unpacker:
    """Cuts a stream of bytes into messages."""

    __slots__ = ("_rest",)

    def __init__(self) -> None:
        self._rest = b""

    def feed(self, data: bytes) -> list[Message]:
        if self._rest:
            data = self._rest + data
        messages: list[Message] = []
        at, end = 0, len(data)
        while end - at >= 4:
            stop = at + 4 + int.from_bytes(data[at : at + 4], "little")
            if stop > end:
                break
            messages.append(marshal.loads(data[at + 4 : stop]))
            at = stop
        self._rest = data[at:]
        return messages
