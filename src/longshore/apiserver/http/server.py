"""The listening side: TLS, limits, one handler for every request."""

from __future__ import annotations

import asyncio
import logging
import ssl
from typing import TYPE_CHECKING, Any, Final

from aiohttp import web

from longshore.apiserver.http.connection import Server
from longshore.apiserver.http.handler import Handler
from longshore.apiserver.http.patience import Patience

if TYPE_CHECKING:
    from longshore.apiserver.api import Api

MAX_BODY: Final = 3 * 1024 * 1024  # upstream's limit for a request body
_MAX_LINE: Final = 65536  # a request line with long selectors; anything longer is an attack


class HttpServer:
    """Serves one Api on one address until it is closed."""

    def __init__(self, api: Api, *, tls: ssl.SSLContext | None, patience: Patience | None = None) -> None:
        self._patience = patience or Patience()
        self._handler = Handler(api, self._patience)
        self._tls = tls
        self._runner: web.ServerRunner | None = None

    async def start(self, host: str, port: int) -> int:
        """Begins to listen and returns the port (the one chosen, for port 0)."""
        server = Server(
            self._handler.handle,
            head_seconds=self._patience.head,
            at_once=self._handler.at_once,
            request_factory=_request,
            handler_cancellation=True,  # a watch must not outlive its client
            keepalive_timeout=self._patience.idle,
            lingering_time=self._patience.linger,
            access_log=None,
            max_line_size=_MAX_LINE,
            max_field_size=_MAX_LINE,
            auto_decompress=False,
            logger=logging.getLogger("longshore.http"),
        )
        self._runner = web.ServerRunner(server, handle_signals=False, shutdown_timeout=self._patience.stop)
        await self._runner.setup()
        site = web.TCPSite(self._runner, host, port, ssl_context=self._tls, backlog=1024)
        await site.start()
        chosen: int = site._server.sockets[0].getsockname()[1]  # type: ignore[union-attr]
        return chosen

    async def close(self) -> None:
        """Ends all streams, lets running requests finish for a moment, and stops listening."""
        self._handler.close()
        if self._runner is not None:
            await self._runner.cleanup()


def _request(
    message: Any, payload: Any, protocol: Any, writer: Any, task: asyncio.Task[None]
) -> web.BaseRequest:
    return web.BaseRequest(
        message, payload, protocol, writer, task, asyncio.get_running_loop(), client_max_size=MAX_BODY
    )
