"""Sends requests and waits for their answers: connections, credentials, retries, time limits.

Retries follow client-go: an answer of 429 or 5xx that carries `Retry-After` is tried again after that
time, up to ten times, and a GET whose connection broke is tried again. A write whose connection broke is
never repeated, since it may have happened.
"""

from __future__ import annotations

import asyncio
import os
import platform
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from functools import partial
from typing import TypeVar
from urllib.parse import urlencode, urlsplit

from longshore import __version__
from longshore.client.config.connection import Connection
from longshore.client.errors import TimedOut, Unreachable
from longshore.client.http import http1, proxy, tls
from longshore.client.http.asyncio_driver import HttpConnection, Pool
from longshore.client.http.http1 import BrokenOff, ConnectingTimedOut, NoConnection
from longshore.client.protocol import Request, Response

A = TypeVar("A", Response, HttpConnection)
CONNECT_SECONDS = 10.0
MAX_TRIES = 10
"""Tries of one request, as in client-go."""
MAX_PAUSE_SECONDS = 60.0
"""The longest `Retry-After` that is obeyed. If the server asks for more, the caller gets its error."""
_MAX_CONNECTIONS = 100
"""The limit for requests, and again for streams, so that streams leave connections for requests."""


class Transport:
    """Sends requests to one server. Opens its connections with the first request."""

    def __init__(
        self,
        connection: Connection,
        *,
        agent: str,
        environ: Mapping[str, str] = os.environ,
        sleep: Callable[[float], Awaitable[object]] = asyncio.sleep,
        fence: Callable[[], None] | None = None,
        pace: Callable[[], float] | None = None,
    ) -> None:
        self._connection, self._fence = connection, fence
        self._base = connection.server
        self._route = http1.route(
            connection.server, proxy.proxy_for(connection, environ), connection.tls_server_name
        )
        self._sleep, self._pace = sleep, pace
        self._prefix = urlsplit(connection.server).path
        self._pools: tuple[Pool, Pool] | None = None
        """The pools for requests with a whole answer, and for streams."""
        self._certificate: tuple[bytes, bytes] | None = None
        system = f"{platform.system().lower()}/{platform.machine()}"
        # Compressing costs more than it saves on the way to the same machine.
        compress = connection.compress and not connection.is_loopback
        self._headers = [
            *connection.headers,
            ("User-Agent", f"{agent}/{__version__} ({system})"),
            ("Accept-Encoding", "gzip" if compress else "identity"),
        ]
        self._usual: dict[tuple[str, ...], list[tuple[str, str]]] = {}
        """The headers that are added to a request, by the names of its own headers."""

    async def send(self, request: Request, *, seconds: float, retry: bool = True) -> Response:
        """Sends one request and returns its whole answer, within `seconds`."""
        with self._translated(request, seconds):
            async with asyncio.timeout(seconds):
                return await self._try(request, retry, self._send)

    @asynccontextmanager
    async def open(
        self,
        path: str,
        *,
        query: Mapping[str, str],
        headers: Mapping[str, str],
        seconds: float,
        retry: bool = True,
    ) -> AsyncIterator[HttpConnection]:
        """Opens a GET whose body the caller reads as it arrives. `seconds` limits the wait for the first byte
        of the answer. If the body breaks off, leaving the context raises Unreachable."""
        request = Request("GET", path, query, headers=headers)
        async with AsyncExitStack() as opened:
            with self._translated(request, seconds):
                async with asyncio.timeout(seconds):
                    stream = await self._try(request, retry, partial(self._open, opened))
            try:
                yield stream
            except BrokenOff as err:
                raise Unreachable(f"GET {path}: {self._base}: {err}") from err

    @contextmanager
    def _translated(self, request: Request, seconds: float) -> Iterator[None]:
        """Turns exceptions of the driver into those of `client.errors`."""
        what = f"{request.method} {request.path}"
        try:
            yield
        except ConnectingTimedOut as err:
            raise TimedOut(f"{what}: cannot connect to {self._base} in time") from err
        except TimeoutError as err:
            raise TimedOut(f"{what}: no answer from {self._base} within {seconds:g} s") from err
        except (NoConnection, BrokenOff) as err:
            raise Unreachable(f"{what}: {self._base}: {err}") from err

    async def _try(self, request: Request, retry: bool, send: Callable[[Request], Awaitable[A]]) -> A:
        refreshed = False
        for attempt in range(1, MAX_TRIES + 1):
            last = attempt == MAX_TRIES or not retry
            try:
                answer = await send(request)
            except BrokenOff:
                if request.method != "GET" or last:
                    raise
                continue
            code, headers = (
                (answer.code, answer.headers)
                if isinstance(answer, Response)
                else (answer.reader.code, answer.reader.headers)
            )
            if code == 401 and not last and not refreshed and self._connection.credentials.forget():
                refreshed = True
                continue
            pause = _pause(code, headers)
            if pause is None or last:
                return answer
            await self._sleep(pause)
        raise AssertionError("the last try returns or raises")

    async def _prepared(self, request: Request) -> tuple[bytes, tuple[Pool, Pool]]:
        """Waits for the request's turn. Returns its bytes, and the pools with the current certificate."""
        if self._pace is not None and (pause := self._pace()) > 0:
            await self._sleep(pause)
        credentials = self._connection.credentials
        own = {**await credentials.headers(), **request.headers}
        if credentials.certificate() != self._certificate:
            await self.close()
            self._certificate = credentials.certificate()
        if self._pools is None:
            context = tls.context(self._connection, self._certificate) if self._route.needs_tls else None
            requests, streams = (
                Pool(self._route, context, limit=_MAX_CONNECTIONS, seconds=CONNECT_SECONDS) for _ in range(2)
            )
            self._pools = requests, streams
        target = self._prefix + request.path
        if request.query:
            target += ("&" if "?" in target else "?") + urlencode(request.query)
        usual = self._usual.get(names := tuple(own))
        if usual is None:
            lower = {name.lower() for name in names}
            usual = self._usual[names] = [each for each in self._headers if each[0].lower() not in lower]
        sent = self._route.request(request.method, target, (*usual, *own.items()), request.body)
        return sent, self._pools

    async def _send(self, request: Request) -> Response:
        sent, (pool, _) = await self._prepared(request)
        return await pool.send(sent, None if request.method == "GET" else self._fence)

    async def _open(self, opened: AsyncExitStack, request: Request) -> HttpConnection:
        """Opens an answer. Its connection lasts until `opened` ends or the next try begins."""
        await opened.aclose()
        sent, (_, pool) = await self._prepared(request)
        return await opened.enter_async_context(pool.open(sent))

    async def close(self) -> None:
        pools, self._pools = self._pools, None
        for pool in pools or ():
            pool.close()


def _pause(code: int, headers: Mapping[str, str]) -> float | None:
    """Seconds that the server asks us to wait before the same request; None when it did not ask."""
    if code != 429 and code < 500:
        return None
    try:
        seconds = float(headers.get("retry-after", ""))
    except ValueError:
        return None
    return seconds if 0 <= seconds <= MAX_PAUSE_SECONDS else None
