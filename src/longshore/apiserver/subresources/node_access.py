"""The node's side of requests for a pod's processes: logs, exec, attach, ports, usage.

The server checks rights and parameters, and speaks the clients' protocols; the door carries plain bytes. A
server without a node has no door (`Api.door is None`) and refuses these requests.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from typing import Protocol

from longshore.api.container_streams import LogOptions, Session
from longshore.api.types import Obj
from longshore.api.usage import Measured


class NodeDoor(Protocol):
    """Access to one node. Every method raises `StatusError` with the answer for the client."""

    @property
    def node(self) -> str:
        """The node's name. Pods of other nodes cannot be reached through this door."""

    async def logs(self, pod: Obj, container: str, options: LogOptions) -> AsyncGenerator[bytes, None]:
        """The requested lines. Refuses an impossible request at once, and not in the generator."""

    def check_running(self, pod: Obj, container: str) -> None:
        """Refuses a container in which nothing can be run now. Called before a connection is upgraded."""

    async def exec(
        self, pod: Obj, container: str, command: tuple[str, ...], *, stdin: bool, tty: bool
    ) -> Session: ...

    async def attach(self, pod: Obj, container: str) -> Session: ...

    async def port_forward(self, pod: Obj, port: int) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        """A connection to a port of the pod. Raises OSError if no process listens there."""

    async def measure(self) -> Measured:
        """The usage of the node and its containers."""
