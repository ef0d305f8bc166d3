"""Raw requests of `LocalClient`: the network's own handler, given a request that was never on a wire.

Whatever a path answers over HTTP it answers here: discovery, OpenAPI, health, Tables. Streams are refused;
`watch` is made for them.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any, cast
from urllib.parse import urlencode

from aiohttp import http, web
from multidict import CIMultiDict, CIMultiDictProxy
from yarl import URL

from longshore.apiserver.http.handler import Handler
from longshore.apiserver.request.call import User
from longshore.client.protocol import Response


async def request(
    handler: Handler,
    user: User,
    method: str,
    path: str,
    query: Mapping[str, str] | None,
    body: bytes,
    headers: Mapping[str, str],
) -> Response:
    """One request to `handler`, as `user`, and its whole answer."""
    target = f"{path}?{urlencode(query)}" if query else path
    sent = CIMultiDict({"Host": "localhost", **headers})
    message = http.RawRequestMessage(
        method=method,
        path=target,
        version=http.HttpVersion11,
        headers=CIMultiDictProxy(sent),
        raw_headers=tuple((key.encode(), value.encode()) for key, value in sent.items()),
        should_close=False,
        compression=None,
        upgrade=False,
        chunked=False,
        url=URL(target, encoded=True),
    )
    loop = asyncio.get_running_loop()
    task = cast("asyncio.Task[None]", asyncio.current_task())
    nowhere: Any = _Nowhere(user)
    made = web.BaseRequest(message, nowhere, nowhere, nowhere, task, loop)
    made._read_bytes = body  # what a connection would have read
    answer = await handler.handle(made)
    if not isinstance(answer, web.Response):
        raise ValueError(f"{method} {target} is a stream; use watch()")
    content = answer.body if isinstance(answer.body, bytes | bytearray) else b""
    return Response(
        answer.status, {key.lower(): value for key, value in answer.headers.items()}, bytes(content)
    )


class _Nowhere:
    """Connection, protocol and body of a request without a network. Knows who is calling."""

    ssl_context = None
    peername = sockname = ("127.0.0.1", 0)

    def __init__(self, user: User) -> None:
        groups = tuple((("organizationName", group),) for group in user.groups)
        self._certificate = {"subject": ((("commonName", user.name),), *groups)}
        self.transport = self

    def is_eof(self) -> bool:
        return True

    def get_extra_info(self, name: str, default: Any = None) -> Any:
        return self._certificate if name == "peercert" else getattr(self, name, default)
