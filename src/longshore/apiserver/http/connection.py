"""One client connection: drops those that never finish a request head, answers garbage with a Status.

aiohttp does the protocol; what it leaves open is how long a client may take to say what it wants, and how a
connection becomes one of another protocol than WebSocket.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

from aiohttp import http_exceptions, web
from aiohttp.web_protocol import RequestHandler

from longshore.api import errors
from longshore.apiserver.http import respond


class Connection(RequestHandler):
    """aiohttp's connection with a time limit for request heads."""

    __slots__ = ("_head_seconds", "_limit", "_taken")

    def __init__(self, manager: web.Server, *, head_seconds: float, **kwargs: Any) -> None:
        super().__init__(manager, **kwargs)
        self._head_seconds = head_seconds
        self._taken: Callable[[bytes], None] | None = None

    def take_over(self, receive: Callable[[bytes], None]) -> None:
        """From now on, what comes is no HTTP but goes to `receive`. For the running request's handler."""
        self._taken = receive

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        super().connection_made(transport)
        self._limit: asyncio.TimerHandle | None = None
        self._start_limit()

    def data_received(self, data: bytes) -> None:
        if self._taken is not None:
            self._taken(data)
            return
        super().data_received(data)
        if self._messages or self._current_request is not None:
            self._stop_limit()
        elif self._limit is None:
            self._start_limit()

    def connection_lost(self, exc: BaseException | None) -> None:
        self._stop_limit()
        super().connection_lost(exc)

    def _start_limit(self) -> None:
        self._limit = asyncio.get_running_loop().call_later(self._head_seconds, self.force_close)

    def _stop_limit(self) -> None:
        if self._limit is not None:
            self._limit.cancel()
            self._limit = None

    def handle_error(
        self,
        request: web.BaseRequest,
        status: int = 500,
        exc: BaseException | None = None,
        message: str | None = None,
    ) -> web.StreamResponse:
        """For what is no HTTP request, or one with a method HTTP does not know."""
        if request.writer.output_size > 0:
            raise ConnectionError("the answer has begun already")
        if isinstance(exc, http_exceptions.BadHttpMethod):
            problem = errors.method_not_allowed()
        elif status < 500:
            problem = errors.bad_request("the request is not valid HTTP")
        else:
            self.log_exception("connection failed", exc_info=exc)
            problem = errors.internal("see the server's log")
        response = respond.error(request, problem, [])
        response.force_close()
        return response


class Server(web.Server):
    """Makes a Connection for each client."""

    def __call__(self) -> RequestHandler:
        kwargs: dict[str, Any] = self._kwargs
        return Connection(self, loop=self._loop, **kwargs)
