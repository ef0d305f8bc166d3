"""Sends requests and waits for their answers: connections, credentials, retries, time limits.

Retries follow client-go: an answer of 429 or 5xx that carries `Retry-After` is tried again after that
time, up to ten times, and a GET whose connection broke is tried again. A write whose connection broke is
never repeated, since it may have happened.

Requests with a whole answer go by `wires.py`. Streams, and everything that goes through a proxy, by aiohttp.
"""

from __future__ import annotations

import asyncio
import os
import platform
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from typing import TYPE_CHECKING, TypeVar
from urllib.parse import urlencode, urlsplit

import aiohttp
from multidict import CIMultiDict
from yarl import URL

from longshore import __version__
from longshore.client.config.connection import Connection
from longshore.client.errors import TimedOut, Unreachable
from longshore.client.http import proxy, tls
from longshore.client.http.connector import Connector
from longshore.client.http.wires import BrokenOff, ConnectingTimedOut, NoConnection, Wires
from longshore.client.protocol import Request, Response

if TYPE_CHECKING:
    from ssl import SSLContext

A = TypeVar("A", Response, aiohttp.ClientResponse)
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
        self._prefix = urlsplit(connection.server).path
        self._wires: Wires | None = None
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
                if self._proxy is None:
                    return await self._try(request, retry, self._send_by_wire)
                async with await self._try(request, retry, self._send) as answer:
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
                answer = await self._try(request, True, self._send)
        try:
            async with answer:
                yield answer
        except aiohttp.ClientError as err:
            raise Unreachable(f"GET {path}: {self._base}: {_reason(err)}") from err

    @contextmanager
    def _translated(self, request: Request, seconds: float) -> Iterator[None]:
        """Turns exceptions of aiohttp and of wires.py into those of `client.errors`."""
        what = f"{request.method} {request.path}"
        try:
            yield
        except (aiohttp.ServerTimeoutError, ConnectingTimedOut) as err:
            raise TimedOut(f"{what}: cannot connect to {self._base} in time") from err
        except TimeoutError as err:
            raise TimedOut(f"{what}: no answer from {self._base} within {seconds:g} s") from err
        except (NoConnection, BrokenOff) as err:
            raise Unreachable(f"{what}: {self._base}: {err}") from err
        except aiohttp.ClientError as err:
            raise Unreachable(f"{what}: {self._base}: {_reason(err)}") from err

    async def _try(self, request: Request, retry: bool, send: Callable[[Request], Awaitable[A]]) -> A:
        refreshed = False
        for attempt in range(1, MAX_TRIES + 1):
            last = attempt == MAX_TRIES or not retry
            try:
                answer = await send(request)
            except (BrokenOff, aiohttp.ServerDisconnectedError, aiohttp.ClientOSError) as err:
                if isinstance(err, aiohttp.ClientConnectorError) or request.method != "GET" or last:
                    raise
                continue
            code = answer.code if isinstance(answer, Response) else answer.status
            if code == 401 and not last and not refreshed and self._connection.credentials.forget():
                refreshed = True
                _release(answer)
                continue
            pause = _pause(code, answer.headers)
            if pause is None or last:
                return answer
            _release(answer)
            await self._sleep(pause)
        raise AssertionError("the last try returns or raises")

    async def _prepared(self, request: Request) -> CIMultiDict[str]:
        """The headers to send, when it is the request's turn. Connections have the right certificate then."""
        if self._pace is not None and (pause := self._pace()) > 0:
            await self._sleep(pause)
        credentials = self._connection.credentials
        sent = CIMultiDict(self._headers)
        sent.update(await credentials.headers())
        sent.update(request.headers)
        if credentials.certificate() != self._certificate:
            await self.close()
            self._certificate = credentials.certificate()
        return sent

    async def _send_by_wire(self, request: Request) -> Response:
        headers = await self._prepared(request)
        if self._wires is None:
            self._wires = Wires(
                self._base,
                self._tls(),
                name=self._connection.tls_server_name,
                limit=_MAX_CONNECTIONS,
                seconds=CONNECT_SECONDS,
            )
        target = self._prefix + request.path
        if request.query:
            target += ("&" if "?" in target else "?") + urlencode(request.query)
        fence = None if request.method == "GET" else self._fence
        return await self._wires.send(request.method, target, headers.items(), request.body, fence)

    async def _send(self, request: Request) -> aiohttp.ClientResponse:
        headers = await self._prepared(request)
        if self._session is None:
            self._session = aiohttp.ClientSession(
                connector=Connector(self._fence, ssl=self._tls() or True, limit=_MAX_CONNECTIONS),
                timeout=aiohttp.ClientTimeout(total=None, sock_connect=CONNECT_SECONDS),
                skip_auto_headers=("Content-Type",),
                cookie_jar=aiohttp.DummyCookieJar(),
                read_bufsize=2**18,
            )
        url = URL(self._base + request.path, encoded=True)
        return await self._session.request(
            request.method,
            url.update_query(request.query) if request.query else url,
            data=request.body or None,
            headers=headers,
            allow_redirects=False,  # an API server does not redirect; someone else might
            proxy=self._proxy,
            server_hostname=self._connection.tls_server_name or None,
        )

    def _tls(self) -> SSLContext | None:
        plain = self._base.startswith("http://")
        return None if plain else tls.context(self._connection, self._certificate)

    async def close(self) -> None:
        if self._wires is not None:
            self._wires.close()
            self._wires = None
        if self._session is not None:
            session, self._session = self._session, None
            await session.close()


def _release(answer: Response | aiohttp.ClientResponse) -> None:
    """Lets the connection go of an answer that nobody will read."""
    if not isinstance(answer, Response):
        answer.release()


def _pause(code: int, headers: Mapping[str, str]) -> float | None:
    """Seconds that the server asks us to wait before the same request; None when it did not ask."""
    if code != 429 and code < 500:
        return None
    try:
        seconds = float(headers.get("retry-after", ""))
    except ValueError:
        return None
    return seconds if 0 <= seconds <= MAX_PAUSE_SECONDS else None


def _reason(err: aiohttp.ClientError) -> str:
    if isinstance(err, aiohttp.ClientConnectorCertificateError):
        return f"its certificate is not trusted: {err.certificate_error}"
    if isinstance(err, aiohttp.ClientConnectorError):
        return f"cannot connect: {err.os_error.strerror or err.os_error}"
    return str(err) or type(err).__name__
