from __future__ import annotations

from collections.abc import AsyncIterator

import pytest
from aiohttp import web

from client.http.scripted_server import Script


@pytest.fixture
async def script(anyio_backend: str) -> AsyncIterator[Script]:
    script = Script()
    runner = web.ServerRunner(web.Server(script.handle, access_log=None), shutdown_timeout=0.1)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    script.url = f"http://127.0.0.1:{runner.addresses[0][1]}"
    yield script
    await runner.cleanup()
