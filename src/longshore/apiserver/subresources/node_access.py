"""The node's side of requests for a pod's processes: logs, exec, attach, ports, usage.

The server checks who may ask and what they ask for, and speaks the clients' protocols; behind the door are
plain bytes. A server without a node has no door (`Api.door is None`) and says so to whoever knocks.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from typing import Protocol

from longshore.api.exec_session import Session
from longshore.api.log_options import LogOptions
from longshore.api.types import Obj
from longshore.api.usage import Measured


class NodeDoor(Protocol):
    """One node. Every method raises `StatusError` with the answer the client is to get."""

    @property
    def node(self) -> str:
        """The node's name: pods of other nodes are not behind this door."""

    async def logs(self, pod: Obj, container: str, options: LogOptions) -> AsyncGenerator[bytes, None]:
        """The lines asked for. What cannot be had is refused at once, not by the generator."""

    def check_running(self, pod: Obj, container: str) -> None:
        """Refuses a container in which nothing can be run now. Asked before a connection is upgraded."""

    async def exec(
        self, pod: Obj, container: str, command: tuple[str, ...], *, stdin: bool, tty: bool
    ) -> Session: ...

    async def attach(self, pod: Obj, container: str) -> Session: ...

    async def port_forward(self, pod: Obj, port: int) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        """A connection to a port of the pod. Raises OSError when nobody listens there."""

    async def measure(self) -> Measured:
        """The usage of the node and its containers."""
