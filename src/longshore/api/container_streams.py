"""The options of pods/log, checked: which lines of a container's log a reader wants."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Literal, Protocol

import msgspec

from longshore.api.time.instants import Instant


class LogOptions(msgspec.Struct, frozen=True):
    """The options of one request for a log. None and False stand for an option that is not given."""

    follow: bool = False
    """Whether to follow the container's output until it ends."""
    previous: bool = False
    """Whether to read the previous run of the container."""
    attempt: int | None = None
    """The run of the container to read, from 0: longshore's own option, for clients that follow restarts."""
    since_seconds: int | None = None
    since_time: Instant | None = None
    """Excludes `since_seconds`."""
    timestamps: bool = False
    """Whether each line begins with its time and a space."""
    tail_lines: int | None = None
    limit_bytes: int | None = None
    stream: Literal["All", "Stdout", "Stderr"] = "All"
    """Which of the container's two outputs to read, if its runtime keeps them apart."""


# ---- A way into a container: what engines give, the node passes on, and the API server connects to clients.


class Session(Protocol):
    """A command run beside a container (exec), or the container's own streams (attach)."""

    async def write(self, data: bytes) -> None:
        """Writes to its standard input; does nothing if the session has ended."""

    async def close_input(self) -> None: ...

    async def resize(self, width: int, height: int) -> None: ...

    def output(self) -> AsyncIterator[tuple[Literal["stdout", "stderr"], bytes]]:
        """The output as it arrives; ends when all streams have ended."""

    async def wait(self) -> int:
        """The session's exit code; for an attached session, the container's."""

    async def close(self) -> None:
        """Ends the session. Kills a command run by exec; leaves an attached container running."""
