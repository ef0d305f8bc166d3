"""WebSockets of the command line to a server: exec, attach and port-forward begin here."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Final

from longshore.api.types import Obj
from longshore.cli.server.requests import Answer, Server, encoded, refusal
from longshore.client.http.transport import Transport
from longshore.client.http.websocket_client import Handshake, WebSocket

_SWITCHED: Final = 101
_HANDSHAKE_SECONDS: Final = 65.0
"""A little more than the server's own timeout of a minute."""


def path(pod: Obj, below: str) -> str:
    """The path of a subresource of a pod."""
    return f"/api/v1/namespaces/{pod['metadata']['namespace']}/pods/{pod['metadata']['name']}/{below}"


@asynccontextmanager
async def connected(
    server: Server, path: str, query: Sequence[tuple[str, str]], protocols: Sequence[str]
) -> AsyncIterator[WebSocket]:
    """An open WebSocket that speaks one of the protocols. Raises StatusError with the server's refusal."""
    transport, handshake = Transport(server.connection, agent="longshore"), Handshake(protocols)
    opened = transport.open(
        f"{path}?{encoded(query)}",
        query={},
        headers=handshake.headers,
        seconds=_HANDSHAKE_SECONDS,
        retry=False,  # the server may have begun to run a command
    )
    try:
        async with opened as stream:
            if stream.reader.code != _SWITCHED:
                raise refusal(Answer(stream.reader.code, await stream.read_all()))
            socket = handshake.accepted(stream)
            try:
                yield socket
            finally:
                await socket.close()
    finally:
        await transport.close()
