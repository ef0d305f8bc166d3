"""Connections to one server. Asks a fence before a write goes out, when nothing can delay it any more."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import aiohttp

if TYPE_CHECKING:
    from aiohttp.connector import Connection
    from aiohttp.tracing import Trace


class Connector(aiohttp.TCPConnector):
    """A request that waited for a connection is asked about after the wait: the process may have been stopped
    meanwhile."""

    def __init__(self, fence: Callable[[], None] | None, **options: Any) -> None:
        super().__init__(**options)
        self._fence = fence

    async def connect(
        self,
        req: aiohttp.ClientRequest,
        traces: list[Trace],
        timeout: aiohttp.ClientTimeout,  # noqa: ASYNC109 # the name is aiohttp's
    ) -> Connection:
        connection = await super().connect(req, traces, timeout)
        if self._fence is not None and req.method != "GET":
            try:
                self._fence()
            except BaseException:
                connection.release()
                raise
        return connection
