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
from contextlib import asynccontextmanager, contextmanager

import aiohttp
from multidict import CIMultiDict
from yarl import URL

from longshore import __version__
from longshore.client.config.connection import Connection
from longshore.client.errors import TimedOut, Unreachable
from longshore.client.http import proxy, tls
from longshore.client.http.connector import Connector
from longshore.client.protocol import Request, Response

CONNECT_SECONDS = 10.0
MAX_TRIES = 10
"""client-go tries as often."""
MAX_PAUSE_SECONDS = 60.0
"""A server that asks for more gets its error shown to the caller instead."""
_MAX_CONNECTIONS = 100


class Transport:
    """One server. Opens its connections with the first request."""

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
        self._proxy = proxy.proxy_for(connection, environ)
        self._sleep, self._pace = sleep, pace
        self._session: aiohttp.ClientSession | None = None
        self._certificate: tuple[bytes, bytes] | None = None
        self._headers = CIMultiDict(connection.headers)
        system = f"{platform.system().lower()}/{platform.machine()}"
        self._headers["User-Agent"] = f"{agent}/{__version__} ({system})"
        # Compressing costs more than it saves on the way to the same machine.
        compress = connection.compress and not connection.is_loopback
        self._headers["Accept-Encoding"] = "gzip" if compress else "identity"

    async def send(self, request: Request, *, seconds: float, retry: bool = True) -> Response:
        """One request and its whole answer, within `seconds`."""
        with self._translated(request, seconds):
            async with asyncio.timeout(seconds):
                async with await self._try(request, retry) as answer:
                    content = await answer.read()
        return Response(answer.status, {k.lower(): v for k, v in answer.headers.items()}, content)

    @asynccontextmanager
    async def open(
        self, path: str, *, query: Mapping[str, str], headers: Mapping[str, str], seconds: float
    ) -> AsyncIterator[aiohttp.ClientResponse]:
        """A GET whose body the caller reads as it arrives. `seconds` limits the wait for the first byte of
        the answer. A body that breaks off raises Unreachable where the caller leaves.
        """
        request = Request("GET", path, query, headers=headers)
        with self._translated(request, seconds):
            async with asyncio.timeout(seconds):
                answer = await self._try(request, retry=True)
        try:
            async with answer:
                yield answer
        except aiohttp.ClientError as err:
            raise Unreachable(f"GET {path}: {self._base}: {_reason(err)}") from err

    @contextmanager
    def _translated(self, request: Request, seconds: float) -> Iterator[None]:
        """Turns aiohttp's exceptions into those of `client.errors`."""
        what = f"{request.method} {request.path}"
        try:
            yield
        except aiohttp.ServerTimeoutError as err:
            raise TimedOut(f"{what}: cannot connect to {self._base} in time") from err
        except TimeoutError as err:
            raise TimedOut(f"{what}: no answer from {self._base} within {seconds:g} s") from err
        except aiohttp.ClientError as err:
            raise Unreachable(f"{what}: {self._base}: {_reason(err)}") from err

    async def _try(self, request: Request, retry: bool) -> aiohttp.ClientResponse:
        refreshed = False
        for attempt in range(1, MAX_TRIES + 1):
            last = attempt == MAX_TRIES or not retry
            try:
                response = await self._send(request)
            except (aiohttp.ServerDisconnectedError, aiohttp.ClientOSError) as err:
                if isinstance(err, aiohttp.ClientConnectorError) or request.method != "GET" or last:
                    raise
                continue
            if response.status == 401 and retry and not refreshed and self._connection.credentials.forget():
                refreshed = True
                response.release()
                continue
            pause = _pause(response)
            if pause is None or last:
                return response
            response.release()
            await self._sleep(pause)
        raise AssertionError("the last try returns or raises")

    async def _send(self, request: Request) -> aiohttp.ClientResponse:
        if self._pace is not None and (pause := self._pace()) > 0:
            await self._sleep(pause)
        credentials = self._connection.credentials
        url = URL(self._base + request.path, encoded=True)
        sent = CIMultiDict(self._headers)
        sent.update(await credentials.headers())
        sent.update(request.headers)
        session = await self._session_with(credentials.certificate())
        return await session.request(
            request.method,
            url.update_query(request.query) if request.query else url,
            data=request.body or None,
            headers=sent,
            allow_redirects=False,  # an API server does not redirect; someone else might
            proxy=self._proxy,
            server_hostname=self._connection.tls_server_name or None,
        )

    async def _session_with(self, certificate: tuple[bytes, bytes] | None) -> aiohttp.ClientSession:
        """The session; a new one when the client certificate has changed."""
        if self._session is not None and certificate == self._certificate:
            return self._session
        await self.close()
        ssl = True if self._base.startswith("http://") else tls.context(self._connection, certificate)
        self._certificate = certificate
        self._session = aiohttp.ClientSession(
            connector=Connector(self._fence, ssl=ssl, limit=_MAX_CONNECTIONS),
            timeout=aiohttp.ClientTimeout(total=None, sock_connect=CONNECT_SECONDS),
            skip_auto_headers=("Content-Type",),
            cookie_jar=aiohttp.DummyCookieJar(),
            read_bufsize=2**18,
        )
        return self._session

    async def close(self) -> None:
        if self._session is not None:
            session, self._session = self._session, None
            await session.close()


def _pause(response: aiohttp.ClientResponse) -> float | None:
    """Seconds that the server asks us to wait before the same request; None when it did not ask."""
    if response.status != 429 and response.status < 500:
        return None
    try:
        seconds = float(response.headers.get("Retry-After", ""))
    except ValueError:
        return None
    return seconds if 0 <= seconds <= MAX_PAUSE_SECONDS else None


def _reason(err: aiohttp.ClientError) -> str:
    if isinstance(err, aiohttp.ClientConnectorCertificateError):
        return f"its certificate is not trusted: {err.certificate_error}"
    if isinstance(err, aiohttp.ClientConnectorError):
        return f"cannot connect: {err.os_error.strerror or err.os_error}"
    return str(err) or type(err).__name__
