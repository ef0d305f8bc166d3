"""Requests that are too big: refused with a Status where HTTP still allows one, without reading them all."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator

import pytest

from apiserver.limits.wire import MAPS, Wire, answer, ends, serving

pytestmark = pytest.mark.anyio
LIMIT = 3 * 1024 * 1024


@pytest.fixture
async def wire(anyio_backend: str, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Wire]:
    async with serving(monkeypatch, linger=0.3) as wire:
        yield wire


def config_map(size: int) -> bytes:
    """A ConfigMap of exactly so many bytes, valid but for the size of its data."""
    empty = json.dumps({"metadata": {"name": "m"}, "data": {"k": ""}}).encode()
    return empty[:-3] + b"x" * (size - len(empty)) + empty[-3:]


def too_large(code: int, status: object) -> bool:
    assert isinstance(status, dict)
    assert (code, status["kind"], status["reason"]) == (413, "Status", "RequestEntityTooLarge")
    assert status["message"] == f"Request entity too large: limit is {LIMIT}"
    return True


async def test_a_body_of_three_mebibytes_is_read_and_one_byte_more_is_not(wire: Wire) -> None:
    code, status = await wire.ask("POST", MAPS, config_map(LIMIT))
    assert (code, status["reason"]) == (422, "Invalid")  # too much data for a ConfigMap, but it was read
    assert too_large(*await wire.ask("POST", MAPS, config_map(LIMIT + 1)))
    assert too_large(*await wire.ask("PUT", f"{MAPS}/m", config_map(LIMIT + 1)))
    patch = "application/merge-patch+json"
    assert too_large(*await wire.ask("PATCH", f"{MAPS}/m", config_map(LIMIT + 1), Content_Type=patch))
    assert too_large(*await wire.ask("DELETE", f"{MAPS}/m", config_map(LIMIT + 1)))


async def test_a_body_in_chunks_is_held_to_the_same_limit(wire: Wire) -> None:
    reader, writer = await wire.open()
    writer.write(wire.head("POST", MAPS, Transfer_Encoding="chunked"))
    for _ in range(5):
        writer.write(b"100000\r\n" + b"x" * 0x100000 + b"\r\n")
    assert too_large(*await answer(reader))
    assert await ends(reader) == b""


async def test_a_body_announced_as_endless_is_refused_at_the_limit(wire: Wire) -> None:
    reader, writer = await wire.open()
    writer.write(wire.head("POST", MAPS, Content_Length=str(10**15)) + b"x" * (LIMIT + 1))
    assert too_large(*await answer(reader))
    assert await ends(reader) == b""


@pytest.mark.parametrize(
    ("extra", "code"),
    [
        pytest.param(b"X-Long: " + b"a" * 1_000_000 + b"\r\n", 431, id="a long header"),
        pytest.param(b"".join(b"X-%d: a\r\n" % n for n in range(50_000)), 431, id="many headers"),
        pytest.param(b"".join(b"X-%d: a\r\n" % n for n in range(130)), 431, id="a few headers too many"),
        pytest.param(b"X-Long: " + b"a" * 131_072 + b"\r\n", 431, id="a header that is a little too long"),
        pytest.param(b"X-Fold: a\r\n" + b" a\r\n" * 50_000, 400, id="a folded header"),
        pytest.param(b"a" * 1_000_000, 431, id="no end of line"),
    ],
)
async def test_a_head_without_end_is_refused(wire: Wire, extra: bytes, code: int) -> None:
    reader, writer = await wire.open()
    writer.write(wire.head("GET", MAPS)[:-2] + extra + b"\r\n")
    found, status = await answer(reader)
    assert (found, status["kind"]) == (code, "Status")
    assert await ends(reader) == b""
    await wire.is_well()


async def test_a_path_without_end_is_refused(wire: Wire) -> None:
    reader, writer = await wire.open()
    writer.write(wire.head("GET", MAPS + "?labelSelector=" + "a" * 1_000_000))
    found, status = await answer(reader)
    assert (found, status["reason"]) == (431, "RequestHeaderFieldsTooLarge")
    assert await ends(reader) == b""
    await wire.is_well()


async def test_many_requests_at_once_on_one_connection_are_answered_in_order(wire: Wire) -> None:
    reader, writer = await wire.open()
    for number in range(200):
        writer.write(wire.head("GET", f"{MAPS}/m{number}"))
    async with asyncio.timeout(20):
        for number in range(200):
            code, status = await answer(reader)
            assert (code, status["details"]["name"]) == (404, f"m{number}")


async def test_compressed_bodies_are_not_unpacked(wire: Wire) -> None:
    """A small body could otherwise grow without limit."""
    import gzip

    packed = gzip.compress(config_map(1000))
    code, status = await wire.ask("POST", MAPS, packed, Content_Encoding="gzip")
    assert (code, status["reason"]) == (400, "BadRequest")
