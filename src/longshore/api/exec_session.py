"""A way into a container: what engines give, the node passes on, and the API server connects to clients."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Literal, Protocol


class Session(Protocol):
    """A command run beside a container (exec), or the container's own streams (attach)."""

    async def write(self, data: bytes) -> None:
        """To its standard input. Silently nothing when it has gone."""

    async def close_input(self) -> None: ...

    async def resize(self, width: int, height: int) -> None: ...

    def output(self) -> AsyncIterator[tuple[Literal["stdout", "stderr"], bytes]]:
        """Ends when all streams have ended."""

    async def wait(self) -> int:
        """The session's exit code. An attached session ends with that of the container."""

    async def close(self) -> None:
        """Lets go. A command run by exec is killed, a container is left alone."""
