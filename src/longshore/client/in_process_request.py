"""Raw requests of `LocalClient`: the front door of HTTP, given a request that was never on a wire.

Whatever a path answers over HTTP it answers here: discovery, OpenAPI, health, Tables. Streams are refused;
`watch` is made for them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING
from urllib.parse import urlencode

from longshore.apiserver.http.begun import Durable, Ready, Streams, Waits
from longshore.apiserver.http.request import Headers, Request
from longshore.client.protocol import Response
from longshore.store import StoreError

if TYPE_CHECKING:
    from longshore.apiserver.http.begin import FrontDoor
    from longshore.apiserver.http.response import Reply
    from longshore.apiserver.request.call import User


async def request(
    front: FrontDoor,
    user: User,
    method: str,
    path: str,
    query: Mapping[str, str] | None,
    body: bytes,
    headers: Mapping[str, str],
) -> Response:
    """One request to `front`, as `user`, and its whole answer."""
    target = f"{path}?{urlencode(query)}" if query else path
    sent = {"host": "localhost", **{name.lower(): value for name, value in headers.items()}}
    reply = await _answer(front, Request(method, target, Headers(sent), user, body))
    kept = {"cache-control": reply.caching, "content-type": reply.media_type}
    kept |= {name.lower(): value for name, value in reply.headers}
    return Response(reply.code, kept, reply.body)


async def _answer(front: FrontDoor, sent: Request) -> Reply:
    begun = front.begin(sent)
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
