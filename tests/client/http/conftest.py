from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from client.http.scripted_server import Script
from support.http_server import serving


@pytest.fixture
async def script(anyio_backend: str) -> AsyncIterator[Script]:
    script = Script()
    async with serving(script.handle) as script.url:
        yield script
