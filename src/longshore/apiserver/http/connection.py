"""One client connection: drops those that never finish a request head, answers garbage with a Status.

aiohttp does the protocol; what it leaves open is how long a client may take to say what it wants, and how a
connection becomes one of another protocol than WebSocket. A usual request that comes quickly while nothing
else is going on does not reach aiohttp at all: see `heads` and `quick`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from typing import Any, Final

from aiohttp import http_exceptions, web
from aiohttp.web_protocol import RequestHandler

from longshore.api import errors
from longshore.apiserver.http import heads, respond
from longshore.apiserver.http.plain import Reply

AtOnce = Callable[[heads.Read, bytes, Mapping[str, Any] | None, Callable[[Reply], None]], bool]
"""`Handler.at_once`."""

_MOMENT: Final = 0.05
"""Seconds in which the rest of a request comes: many clients send head and body apart."""
_LONGEST: Final = 1 << 16
"""Bytes of a request whose rest is waited for."""


class Connection(RequestHandler):
    """aiohttp's connection with a time limit for request heads, and a short way for usual ones."""

    __slots__ = (
        "_at_once", "_begun", "_busy", "_head_seconds", "_kept", "_limit", "_open", "_rest", "_taken",
    )  # fmt: skip

    def __init__(self, manager: web.Server, *, head_seconds: float, at_once: AtOnce, **kwargs: Any) -> None:
        super().__init__(manager, **kwargs)
        self._head_seconds = head_seconds
        self._at_once = at_once
        self._taken: Callable[[bytes], None] | None = None
        self._open = 0
        """Bytes still to come of the request that aiohttp has been given, as far as we can tell: 0 between
        two requests, negative once we lost count and leave everything to aiohttp."""
        self._begun = b""
        """The first pieces of a request, for a moment."""
        self._rest: asyncio.TimerHandle | None = None
        """The end of that moment."""
        self._busy = False
        """Whether a request that came the short way is not answered yet."""
        self._kept = b""
        """The bytes that have arrived meanwhile."""

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
        if self._busy:
            if data:
                self._keep(data)
            return
        if self._begun:
            data, self._begun = self._begun + data, b""
        if self._open > 0:
            self._open -= len(data)
        elif self._open == 0 and data and self._short_way(data):
            return
        self._long_way(data)

    def _long_way(self, data: bytes) -> None:
        self._stop_waiting()
        super().data_received(data)
        if self._messages or self._current_request is not None:
            self._stop_limit()
        elif self._limit is None:
            self._start_limit()

    def _short_way(self, data: bytes) -> bool:
        """Whether these bytes are a request to begin, or its first part. Else takes note where it ends."""
        read = heads.read(data)
        self._open = -1 if read is None else read.end - len(data)
        transport, waiter = self.transport, self._waiter
        if (
            read is None
            or self._open < 0
            or transport is None
            or self._paused
            or self._close
            or self._force_close
            or waiter is None  # aiohttp is not done with the request before
            or waiter.done()
        ):
            return False
        if self._open:
            return read.end <= _LONGEST and self._wait_for_rest(data)
        self._busy = True
        if not self._at_once(read, data[read.start :], transport.get_extra_info("peercert"), self._answered):
            self._busy = False
            return False
        self._request_in_progress = self._busy  # for a server that stops
        self._postpone_idle_end()
        self._stop_waiting()
        self._stop_limit()
        return True

    def _wait_for_rest(self, data: bytes) -> bool:
        """Keeps the beginning of a request for a moment; then aiohttp may wait, which knows for how long."""
        if self._rest is None:
            self._stop_limit()
            self._rest = self._loop.call_later(_MOMENT, self._give_up)
        self._begun, self._open = data, 0
        return True

    def _give_up(self) -> None:
        data, self._begun = self._begun, b""
        read = heads.read(data)
        assert read is not None
        self._open = read.end - len(data)
        self._long_way(data)

    def _stop_waiting(self) -> None:
        if self._rest is not None:
            self._rest.cancel()
            self._rest = None

    def _keep(self, data: bytes) -> None:
        """Until the request before is answered, a client may say one thing more."""
        if not self._kept and self.transport is not None:
            self.transport.pause_reading()
        self._kept += data

    def _answered(self, reply: Reply) -> None:
        self._busy = self._request_in_progress = False
        if self._handler_waiter is not None and not self._handler_waiter.done():
            self._handler_waiter.set_result(None)
        transport = self.transport
        if transport is None or transport.is_closing():
            return  # the client is gone
        transport.writelines(reply.pieces())
        self._postpone_idle_end()
        if self._kept:
            kept, self._kept = self._kept, b""
            transport.resume_reading()
            self.data_received(kept)

    def _postpone_idle_end(self) -> None:
        self._next_keepalive_close_time = self._loop.time() + self._keepalive_timeout
        if self._keepalive_handle is None:
            self._keepalive_handle = self._loop.call_at(
                self._next_keepalive_close_time, self._process_keepalive
            )

    def connection_lost(self, exc: BaseException | None) -> None:
        self._stop_waiting()
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
