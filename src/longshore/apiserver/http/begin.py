"""The front of the API: every request of the API, over a connection or from this process, takes these steps.

`Exchange.admit` finds user, call and output form, and needs no body. `Exchange.begin` carries out the verb,
as far as it goes without waiting. Errors of the API become their Status. Any other exception is logged with
its traceback and answered as a 500 without details.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from longshore.apiserver.http import aside, endpoints, respond
from longshore.apiserver.http.begun import Begun
from longshore.apiserver.http.exchange import Exchange, problem_of
from longshore.apiserver.http.fair_share import FairShare
from longshore.apiserver.http.open_streams import PodStreams, Watching
from longshore.apiserver.http.request import Request
from longshore.apiserver.http.response import Reply
from longshore.apiserver.metrics import Metrics
from longshore.apiserver.request.call import Call

if TYPE_CHECKING:
    from longshore.apiserver.api import Api
    from longshore.apiserver.http.dashboard import Dashboard
    from longshore.apiserver.large.large_writes import LargeWrites


class ApiFront:
    """Turns requests into calls of one Api."""

    def __init__(self, api: Api, dashboard: Dashboard | None = None, *, apart: bool = False) -> None:
        """With `apart`, a separate process reads large bodies; else they are read like all others."""
        self.api, self.dashboard, self._apart = api, dashboard, apart
        self._large: LargeWrites | None = None
        self.fair = FairShare() if apart else None
        """The shares of clients; None if only this process itself sends requests."""
        self.metrics = Metrics(api.store)
        self.endpoints = endpoints.Endpoints(api, self.metrics)
        closing = asyncio.Event()
        self.watching = Watching(self.metrics, closing)
        self.pod_streams = PodStreams(closing)
        self._closing = closing

    def close(self) -> None:
        """Ends every stream."""
        self._closing.set()
        if self._large is not None:
            self._large.close()

    def large(self, call: Call) -> LargeWrites | None:
        """The writer for a body that takes long to read; None for any other body."""
        if len(call.body) <= aside.LARGE_BYTES or not self._apart or self.api.made.maker(call.resource):
            return None
        if self._large is None:
            from longshore.apiserver.large.large_writes import LargeWrites

            self._large = LargeWrites(self.api)
        return self._large

    def admit(self, request: Request) -> Exchange:
        """Checks the head of a request whose body has not arrived yet."""
        exchange = Exchange(self, request)
        exchange.admit()
        return exchange

    def begin(self, request: Request) -> Begun:
        """Begins a request that has arrived whole."""
        if request.exchange is None:
            exchange = Exchange(self, request)
            exchange.admit()
        else:
            assert isinstance(request.exchange, Exchange), "admitted here"
            # The two refer to each other, so a body would stay in memory until the garbage collector runs.
            exchange, request.exchange = request.exchange, None
        return exchange.begin()

    def refuse(self, request: Request, problem: Exception) -> Reply:
        """The answer to bytes that are no request, or to a request whose task has failed."""
        return respond.failure(request, problem_of(problem, request), [])
