"""A server in memory. A queue is open, and its namespace has the account that every pod runs as."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from support.api_in_memory import Server, api_in_memory
from support.volcano_queues import open_queue


@pytest.fixture
async def server(anyio_backend: str) -> AsyncIterator[Server]:
    async with api_in_memory() as server:
        await server.client.create(("v1", "ServiceAccount"), {"metadata": {"name": "default"}}, "default")
        await open_queue(server.client)
        yield server
