"""Requests to a running server, as they are: any method and path, no retries."""

from __future__ import annotations

import json
import ssl
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any, Final

from longshore.client.http import http1
from longshore.client.http.asyncio_driver import HttpConnection, Pool
from longshore.client.http.http1 import BrokenOff, ConnectingTimedOut, Headers, NoConnection

CUT_OFF: Final = (BrokenOff, ConnectingTimedOut, NoConnection, OSError)
"""Raised when the server is gone."""


class Calls:
    """One server, and headers that go with every request."""

    def __init__(self, url: str, context: ssl.SSLContext | None, headers: Mapping[str, str]) -> None:
        self.route = http1.route(url)
        self.pool = Pool(self.route, context, limit=1000, seconds=30)
        self._headers = dict(headers)

    def request(self, method: str, target: str, headers: Headers, body: bytes) -> bytes:
        """The bytes of a request with these headers besides the fixed ones."""
        return self.route.request(method, target, (*self._headers.items(), *headers), body)

    async def __call__(
        self, method: str, path: str, body: Any = None, headers: Mapping[str, str] | None = None
    ) -> tuple[int, Any]:
        content = b"" if body is None else json.dumps(body).encode()
        kind = {"Content-Type": "application/json"} if content else {}
        sent = {**self._headers, **kind, **(headers or {})}
        answer = await self.pool.send(self.route.request(method, path, sent.items(), content))
        return answer.code, json.loads(answer.body)

    @asynccontextmanager
    async def stream(
        self, path: str, headers: Mapping[str, str] | None = None
    ) -> AsyncIterator[HttpConnection]:
        """A GET whose body is read as it arrives."""
        sent = {**self._headers, **(headers or {})}
        async with self.pool.open(self.route.request("GET", path, sent.items())) as answer:
            yield answer


@asynccontextmanager
async def calling(
    url: str, context: ssl.SSLContext | None, headers: Mapping[str, str]
) -> AsyncIterator[Calls]:
    calls = Calls(url, context, headers)
    try:
        yield calls
    finally:
        calls.pool.close()


async def lines(answer: HttpConnection) -> AsyncIterator[bytes]:
    """The whole lines of a body. Half a line at its end is left out."""
    begun = b""
    async for chunk in answer:
        *whole, begun = (begun + chunk).split(b"\n")
        for line in whole:
            yield line
