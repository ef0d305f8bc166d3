"""WebSockets of the command line to a server: exec, attach and port-forward begin here."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Final

import aiohttp

from longshore.api.types import Obj
from longshore.cli.main import Failure
from longshore.cli.server.requests import Answer, Server, encoded, refusal
from longshore.client.http import proxy, tls

_REFUSALS: Final = range(400, 600)


def path(pod: Obj, below: str) -> str:
    """The path of a subresource of a pod."""
    return f"/api/v1/namespaces/{pod['metadata']['namespace']}/pods/{pod['metadata']['name']}/{below}"


@asynccontextmanager
async def connected(
    server: Server, path: str, query: Sequence[tuple[str, str]], protocols: Sequence[str]
) -> AsyncIterator[aiohttp.ClientWebSocketResponse]:
    """An open WebSocket that speaks one of the protocols. Raises StatusError with the server's refusal."""
    connection = server.connection
    headers = await connection.credentials.headers()
    trust = tls.context(connection, connection.credentials.certificate())
    url = f"{connection.server}{path}?{encoded(query)}"
    through = proxy.proxy_for(connection, os.environ)
    name = connection.tls_server_name or None
    async with aiohttp.ClientSession(headers={**dict(connection.headers), **headers}) as session:
        try:
            socket = await session.ws_connect(
                url, ssl=trust, server_hostname=name, proxy=through, protocols=protocols, max_msg_size=0
            )
        except aiohttp.WSServerHandshakeError as err:
            # The refusal in words.
            answer = await session.get(url, ssl=trust, server_hostname=name, proxy=through)
            code = answer.status if answer.status in _REFUSALS else err.status
            raise refusal(Answer(code, await answer.read())) from None
        except aiohttp.ClientError as err:
            raise Failure(f"cannot reach {connection.server}: {err}") from None
        async with socket:
            yield socket
