from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from support.api_in_memory import Server, api_in_memory


@pytest.fixture
async def server(anyio_backend: str) -> AsyncIterator[Server]:
    async with api_in_memory() as server:
        yield server
