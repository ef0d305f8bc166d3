"""A server in memory for the tests of admission."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from support.api_in_memory import Server, api_in_memory


@pytest.fixture
async def server() -> AsyncIterator[Server]:
    """Its namespace has the account that every pod runs as."""
    async with api_in_memory() as server:
        await server.client.create(("v1", "ServiceAccount"), {"metadata": {"name": "default"}}, "default")
        yield server
