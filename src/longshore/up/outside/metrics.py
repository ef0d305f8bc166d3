"""`/metrics` and `/healthz` of controllers outside. Plain HTTP: neither holds a secret."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from aiohttp import web

from longshore.api.metrics import Registry


@asynccontextmanager
async def served(registry: Registry, address: str, port: int) -> AsyncIterator[None]:
    """Listens for as long as the block runs. Raises OSError when the port is not to be had."""

    async def answer(request: web.BaseRequest) -> web.StreamResponse:
        if request.path == "/metrics":
            return web.Response(body=registry.text(), headers={"Content-Type": "text/plain; version=0.0.4"})
        if request.path == "/healthz":
            return web.Response(text="ok")
        return web.Response(status=404, text="404 page not found\n")

    runner = web.ServerRunner(web.Server(answer, access_log=None))
    await runner.setup()
    try:
        await web.TCPSite(runner, address, port).start()
        yield
    finally:
        await runner.cleanup()
