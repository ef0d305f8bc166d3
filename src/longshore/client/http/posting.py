"""Posts a JSON document to a server that is no Kubernetes, once, on a connection of its own."""

from __future__ import annotations

from urllib.parse import urlsplit

from longshore.client.errors import Unreachable
from longshore.client.protocol import Request

_SECONDS = 60.0
"""For callers who set no limit of their own."""
_HEADERS = {"Content-Type": "application/json", "Accept": "application/json"}


async def post(url: str, body: bytes) -> bytes:
    """The body of the answer. Raises Unreachable, also for an answer that is no 200."""
    # Most processes never post anything, and aiohttp takes a third of the time of a start.
    from longshore.client.config.connection import Connection
    from longshore.client.http.transport import Transport

    parts = urlsplit(url)
    transport = Transport(Connection(f"{parts.scheme}://{parts.netloc}"), agent="longshore")
    try:
        answer = await transport.send(
            Request("POST", parts.path, {}, body, _HEADERS), seconds=_SECONDS, retry=False
        )
    finally:
        await transport.close()
    if answer.code != 200:
        raise Unreachable(f"POST {url} was answered with {answer.code}")
    return answer.body
