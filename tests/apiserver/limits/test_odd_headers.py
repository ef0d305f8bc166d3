"""Headers may hold any bytes. Those that are no UTF-8 are read with a replacement, and nobody gets a 500."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from apiserver.limits.wire import MAPS, Wire, serving

pytestmark = pytest.mark.anyio


@pytest.fixture
async def wire(anyio_backend: str, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Wire]:
    async with serving(monkeypatch) as wire:
        yield wire


async def test_a_token_of_such_bytes_is_nobodys(wire: Wire) -> None:
    head = b"GET /api/v1/namespaces HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer \xff\xfe\r\n\r\n"
    code, status = await wire.exchange(head)
    assert (code, status["reason"]) == (401, "Unauthorized")


@pytest.mark.parametrize("size", [1, 20_000], ids=["small", "large"])
async def test_a_program_whose_name_has_such_bytes_writes_as_any_other(wire: Wire, size: int) -> None:
    body = b'{"metadata":{"name":"odd"},"data":{"a":"%b"}}' % (b"b" * size)
    lines = b"User-Agent: caf\xe9/1.0\r\nContent-Length: %d\r\n\r\n" % len(body)
    code, made = await wire.exchange(wire.head("POST", MAPS)[:-2] + lines + body)
    assert (code, made["metadata"]["managedFields"][0]["manager"]) == (201, "caf\N{REPLACEMENT CHARACTER}")
