"""The listening side: TLS, limits, one handler for every request."""

from __future__ import annotations

import asyncio
import logging
import ssl
from typing import TYPE_CHECKING, Any, Final

from aiohttp import web

from longshore.apiserver.http.connection import Server
from longshore.apiserver.http.handler import Handler

if TYPE_CHECKING:
    from longshore.apiserver.api import Api

MAX_BODY: Final = 3 * 1024 * 1024  # upstream's limit for a request body
_MAX_LINE: Final = 65536  # a request line with long selectors; anything longer is an attack
_IDLE_SECONDS: Final = 120.0
_STOP_SECONDS: Final = 3.0


class HttpServer:
    """Serves one Api on one address until it is closed."""

    def __init__(self, api: Api, *, tls: ssl.SSLContext | None) -> None:
        self._handler = Handler(api)
        self._tls = tls
        self._runner: web.ServerRunner | None = None

    async def start(self, host: str, port: int) -> int:
        """Begins to listen and returns the port (the one chosen, for port 0)."""
        server = Server(
            self._handler.handle,
            request_factory=_request,
            keepalive_timeout=_IDLE_SECONDS,
            access_log=None,
            max_line_size=_MAX_LINE,
            max_field_size=_MAX_LINE,
            auto_decompress=False,
            logger=logging.getLogger("longshore.http"),
        )
        self._runner = web.ServerRunner(server, handle_signals=False, shutdown_timeout=_STOP_SECONDS)
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
