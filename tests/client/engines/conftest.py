"""One running longshore, and a client of each engine for it: every test here runs on both."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from longshore.client.http import HttpClient
from longshore.client.local import LocalClient
from longshore.up.options import Options
from longshore.up.running import Longshore, running


@pytest.fixture
async def longshore(anyio_backend: str) -> AsyncIterator[Longshore]:
    async with running(
        Options(in_memory=True, port=0, controllers=(), node=False, scheduler=False)
    ) as longshore:
        yield longshore


@pytest.fixture(params=["local", "http"])
async def client(
    request: pytest.FixtureRequest, longshore: Longshore
) -> AsyncIterator[LocalClient | HttpClient]:
    if request.param == "local":
        yield LocalClient(longshore.api, manager="tester")
    else:
        async with HttpClient.from_kubeconfig(longshore.kubeconfig, manager="tester") as client:
            yield client
