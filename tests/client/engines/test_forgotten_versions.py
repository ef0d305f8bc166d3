"""What the server no longer remembers is a 410 on both engines, and nothing else."""

from __future__ import annotations

import random
from collections.abc import AsyncIterator

import pytest

from longshore.api.errors import StatusError
from longshore.apiserver.access.tokens import Tokens
from longshore.apiserver.api import Api, ApiParts
from longshore.apiserver.http.server import HttpServer
from longshore.client import Client
from longshore.client.config.connection import Connection
from longshore.client.credentials import Token
from longshore.client.http import HttpClient
from longshore.client.local import LocalClient
from longshore.machinery.time.clock import RealClock
from longshore.store.memory_limits import Limits
from longshore.store.store import Store

pytestmark = pytest.mark.anyio

MAPS = ("v1", "ConfigMap")


@pytest.fixture(params=["local", "http"])
async def client(request: pytest.FixtureRequest, anyio_backend: str) -> AsyncIterator[Client]:
    """A client of a server that remembers ten changes."""
    store = Store.open(None, limits=Limits(window_events=10))
    tokens = Tokens(store, admin_token="t", key=b"k", clock=lambda: 0.0)
    api = Api(ApiParts(store, RealClock(), random.Random(), tokens=tokens))
    await LocalClient(api).create(("v1", "Namespace"), {"metadata": {"name": "default"}})
    if request.param == "local":
        yield LocalClient(api)
    else:
        server = HttpServer(api, tls=None)
        port = await server.start("127.0.0.1", 0)
        connection = Connection(f"http://127.0.0.1:{port}", credentials=Token("t"))
        async with HttpClient(connection) as client:
            yield client
        await server.close()
    await store.close()


async def write(client: Client, count: int) -> None:
    await client.apply(MAPS, {"metadata": {"name": "a"}}, "default", manager="m")
    for index in range(count):
        await client.patch(MAPS, "a", {"data": {"n": str(index)}}, "default")


async def watch_from(client: Client, version: str) -> None:
    async with client.watch(MAPS, "default", resource_version=version, timeout=1) as events:
        async for _ in events:
            break


async def test_a_watch_from_a_forgotten_version_is_a_410(client: Client) -> None:
    version = (await client.list(MAPS, "default")).resource_version
    await write(client, 20)
    with pytest.raises(StatusError, match="too old resource version") as caught:
        await watch_from(client, version)
    assert (caught.value.code, caught.value.reason) == (410, "Expired")
