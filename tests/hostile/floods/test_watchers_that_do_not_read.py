"""Watchers that do not read: they are dropped, and their memory with them."""

from __future__ import annotations

import asyncio
import gc
import re
import tracemalloc
from collections.abc import Iterator

import pytest

from apiserver.limits.wire import MAPS, Wire, answer, serving

pytestmark = pytest.mark.anyio

WATCHERS = 30
CHANGES = 80
CHANGE_BYTES = 900_000
"""So what is kept for watchers in any case (64 MiB) is full, and what may wait for one (32 MiB)."""
MAX_WATCHED_MIB = 150
"""While they are there, for all of them. With all that waits for one rendered at once, it is some 600."""
MAX_LEFT_MIB = 25
"""Of which 16 are lines for others and the buffers of the clients. What was rendered for each watcher,
left to the collector of garbage, is 27 more."""
_ONLY_METADATA = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1"


@pytest.fixture
def anyio_backend() -> tuple[str, dict[str, bool]]:
    """The loop that longshore runs on; asyncio's own leaves what was to be sent to the collector."""
    return "asyncio", {"use_uvloop": True}


@pytest.fixture
def traced() -> Iterator[None]:
    gc.collect()
    gc.disable()  # who comes by now and then is no help
    tracemalloc.start()
    try:
        yield
    finally:
        tracemalloc.stop()
        gc.enable()


async def test_watchers_that_do_not_read_are_dropped_with_their_memory(
    monkeypatch: pytest.MonkeyPatch, traced: None
) -> None:
    async with serving(monkeypatch, stuck=1.0) as wire:
        body = b'{"metadata":{"name":"large"},"data":{"text":"%s"}}' % (b"x" * CHANGE_BYTES)
        assert (await wire.ask("POST", MAPS, body))[0] == 201
        revision = await _change_it(wire)
        before, _ = tracemalloc.get_traced_memory()
        for _ in range(WATCHERS):
            await _watch(wire, revision)
        tracemalloc.reset_peak()
        await _change_it(wire)
        _, most = tracemalloc.get_traced_memory()
        while await _watches(wire):  # noqa: ASYNC110 - the server is not asked often
            await asyncio.sleep(0.1)
        after, _ = tracemalloc.get_traced_memory()
    assert most - before < MAX_WATCHED_MIB << 20
    assert after - before < MAX_LEFT_MIB << 20


async def _change_it(wire: Wire) -> str:
    """Changes a large object many times, on one connection; its last revision."""
    reader, writer = await wire.open()
    made = {}
    for number in range(CHANGES):
        patch = b'{"metadata":{"labels":{"number":"%d"}}}' % number
        headers = {"Content_Type": "application/merge-patch+json", "Accept": _ONLY_METADATA}
        writer.write(wire.head("PATCH", f"{MAPS}/large", Content_Length=str(len(patch)), **headers) + patch)
        code, made = await answer(reader)
        assert code == 200
    return str(made["metadata"]["resourceVersion"])


async def _watch(wire: Wire, revision: str) -> None:
    """Begins a watch, and reads no more than the head of its answer."""
    reader, writer = await wire.open(limit=1 << 12)
    writer.write(wire.head("GET", f"{MAPS}?watch=1&resourceVersion={revision}"))
    assert (await reader.readuntil(b"\r\n\r\n")).startswith(b"HTTP/1.1 200 ")


async def _watches(wire: Wire) -> int:
    _, text = await wire.ask("GET", "/metrics")
    found = re.findall(
        rb'^apiserver_longrunning_requests{[^}]*resource="configmaps"[^}]*} (\S+)', text, re.MULTILINE
    )
    return sum(int(float(each)) for each in found)
