"""Raw requests of `LocalClient`: hands them to the server's `ApiFront` without a network.

Every path gives the same answer as over HTTP: discovery, OpenAPI, health, Tables. Streams are refused; use
`watch`.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING
from urllib.parse import urlencode

from longshore.apiserver.http.begun import Durable, Queued, Ready, Streams, Waits
from longshore.apiserver.http.request import Headers, Request
from longshore.client import protocol
from longshore.client.protocol import Response
from longshore.store import StoreError

if TYPE_CHECKING:
    from longshore.apiserver.http.begin import ApiFront
    from longshore.apiserver.http.response import Reply
    from longshore.apiserver.request.call import User


async def answer(front: ApiFront, user: User, agent: str, asked: protocol.Request) -> Response:
    """Sends one request to `front` as `user` and returns its whole answer. `agent` is the User-Agent unless
    the request has its own."""
    target = f"{asked.path}?{urlencode(asked.query)}" if asked.query else asked.path
    sent = {"host": "localhost", "user-agent": agent}
    sent |= {name.lower(): value for name, value in asked.headers.items()}
    reply = await _reply(front, Request(asked.method, target, Headers(sent), user, asked.body))
    kept = {"cache-control": reply.caching, "content-type": reply.media_type}
    kept |= {name.lower(): value for name, value in reply.headers}
    return Response(reply.code, kept, reply.body)


async def _reply(front: ApiFront, sent: Request) -> Reply:
    begun = front.begin(sent)
    if isinstance(begun, Queued):
        due = asyncio.Event()
        begun.when_due(due.set)
        await due.wait()
        begun = begun.begin()
    if isinstance(begun, Waits):
        begun = await begun.work()
    if isinstance(begun, Ready):
        return begun.reply
    if isinstance(begun, Durable):
        try:
            await begun.last.done()
        except StoreError as error:
            return begun.reply(error)
        return begun.reply(None)
    if isinstance(begun, Streams):
        await begun.drop()
    raise ValueError(f"{sent.method} {sent.target} is a stream; use watch()")
