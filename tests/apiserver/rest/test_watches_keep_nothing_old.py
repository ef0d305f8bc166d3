"""A watch lives for an hour, and for ever inside the server: it must not keep what it has told long ago."""

from __future__ import annotations

import sys

import pytest

from longshore.store import Key
from longshore.store.memory_limits import Limits

pytestmark = pytest.mark.anyio


@pytest.mark.parametrize("selector", ["", "metadata.name=c"])
async def test_states_that_are_no_more_are_let_go(make_server, selector):
    server = await make_server(Limits(window_events=1, decoded_bytes=0))
    await server.create("configmaps", {"metadata": {"name": "c"}})
    first = server.store.get(Key("configmaps", "default", "c"))
    stream = await server.api.watch(server.call("configmaps", "watch", fieldSelector=selector))
    await anext(stream)
    for n in range(3):
        await server.patch("configmaps", "c", {"data": {"n": str(n)}})
        await anext(stream)
    assert sys.getrefcount(first) <= 2  # this test's own
    await stream.aclose()
