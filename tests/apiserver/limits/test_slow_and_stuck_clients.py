"""Clients that are slow, stuck or gone: they are dropped, and nobody else notices."""

from __future__ import annotations

import asyncio
import json
import logging
import socket
from collections.abc import Callable

import pytest

from apiserver.limits.wire import MAPS, Wire, answer, ends, serving

pytestmark = pytest.mark.anyio
BODY = json.dumps({"metadata": {"name": "a"}}).encode()


async def until(condition: Callable[[], bool], seconds: float = 5) -> None:
    """Waits for a condition that comes true by itself."""
    for _ in range(int(seconds / 0.02)):
        if condition():
            return
        await asyncio.sleep(0.02)
    raise AssertionError("it did not come true")


def watches(wire: Wire) -> int:
    return len(wire.store._hub)


async def test_a_client_that_says_nothing_is_dropped(monkeypatch: pytest.MonkeyPatch) -> None:
    async with serving(monkeypatch, head=0.3) as wire:
        reader, _ = await wire.open()
        assert await ends(reader) == b""


async def test_a_head_that_comes_by_drops_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    async with serving(monkeypatch, head=0.4) as wire:
        reader, writer = await wire.open()
        began = asyncio.get_running_loop().time()
        for byte in wire.head("GET", MAPS)[:-2]:
            writer.write(bytes([byte]))
            await asyncio.sleep(0.02)
            if reader.at_eof() or asyncio.get_running_loop().time() - began > 2:
                break
        assert await ends(reader) == b""
        assert asyncio.get_running_loop().time() - began < 2
        await wire.is_well()


async def test_the_second_head_of_a_connection_is_not_waited_for_either(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async with serving(monkeypatch, head=0.3, idle=30) as wire:
        reader, writer = await wire.open()
        writer.write(wire.head("GET", MAPS))
        assert (await answer(reader))[0] == 200
        await asyncio.sleep(0.5)  # idle is fine
        assert not reader.at_eof()
        writer.write(b"GET ")
        assert await ends(reader) == b""


async def test_a_body_that_does_not_come_is_answered_with_a_timeout(monkeypatch: pytest.MonkeyPatch) -> None:
    async with serving(monkeypatch, body=0.3, linger=0.2) as wire:
        reader, writer = await wire.open()
        writer.write(wire.head("POST", MAPS, Content_Length="1000") + b"{")
        code, status = await answer(reader)
        assert (code, status["kind"], status["reason"]) == (408, "Status", "Timeout")
        assert await ends(reader) == b""
        await wire.is_well()


async def test_a_client_that_goes_in_the_middle_of_its_body_leaves_no_trace(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    async with serving(monkeypatch) as wire:
        for _ in range(5):
            _, writer = await wire.open()
            writer.write(wire.head("POST", MAPS, Content_Length="1000") + BODY)
            await asyncio.sleep(0.05)
            writer.transport.abort()
        await asyncio.sleep(0.2)
        assert (await wire.ask("GET", f"{MAPS}/a"))[0] == 404
    assert not [record for record in caplog.records if record.levelno >= logging.WARNING]


async def test_an_idle_connection_is_closed_in_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    async with serving(monkeypatch, idle=0.4) as wire:
        reader, writer = await wire.open()
        writer.write(wire.head("GET", MAPS))
        assert (await answer(reader))[0] == 200
        assert await ends(reader) == b""


async def test_many_idle_connections_do_no_harm(monkeypatch: pytest.MonkeyPatch) -> None:
    async with serving(monkeypatch, head=60, handshake=60) as wire:
        opened = await asyncio.gather(*(wire.open() for _ in range(300)))
        await wire.is_well()
        for _, writer in opened:
            writer.transport.abort()


async def test_a_watch_ends_with_its_client(monkeypatch: pytest.MonkeyPatch) -> None:
    async with serving(monkeypatch) as wire:
        opened = [await wire.open() for _ in range(20)]
        for reader, writer in opened:
            writer.write(wire.head("GET", MAPS + "?watch=1"))
            await reader.readuntil(b"\r\n\r\n")
        assert watches(wire) == 20
        for _, writer in opened:
            writer.transport.abort()
        await until(lambda: watches(wire) == 0)


WEBSOCKET = {
    "Connection": "Upgrade",
    "Upgrade": "websocket",
    "Sec_WebSocket_Version": "13",
    "Sec_WebSocket_Key": "dGhlIHNhbXBsZSBub25jZQ==",
}


@pytest.mark.parametrize("headers", [{}, WEBSOCKET], ids=["lines", "websocket"])
async def test_a_watcher_that_reads_nothing_is_cut_off_and_others_are_not(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, headers: dict[str, str]
) -> None:
    async with serving(monkeypatch, stuck=0.3) as wire:
        good, good_writer = await wire.open()
        good_writer.write(wire.head("GET", MAPS + "?watch=1"))
        await good.readuntil(b"\r\n\r\n")
        stuck = await stuck_watcher(wire, headers)
        await until(lambda: watches(wire) == 2)
        body = {"metadata": {"generateName": "big-"}, "data": {"k": "x" * 500_000}}
        created = 0
        async with asyncio.timeout(20):
            while watches(wire) == 2:
                assert (await wire.ask("POST", MAPS, json.dumps(body).encode()))[0] == 201
                created += 1
        seen = b""
        async with asyncio.timeout(10):
            while seen.count(b'"type":"ADDED"') < created:
                seen += await good.read(1 << 20)
        good_writer.transport.abort()
        stuck.close()
        await wire.is_well()
    assert not [record for record in caplog.records if record.levelno >= logging.ERROR]


async def test_a_client_that_pings_and_reads_no_answer_is_cut_off(monkeypatch: pytest.MonkeyPatch) -> None:
    async with serving(monkeypatch, stuck=0.3) as wire:
        stuck = await stuck_watcher(wire, WEBSOCKET)
        await until(lambda: watches(wire) == 1)
        pings = (b"\x89\xfd\0\0\0\0" + b"x" * 125) * 1000

        def flood() -> int:
            """Bytes that were taken. What the buffers of the system cannot hold is in the server's memory."""
            for sent in range(0, 32 << 20, len(pings)):
                try:
                    stuck.sendall(pings)
                except OSError:
                    return sent
            return 32 << 20

        assert await asyncio.get_running_loop().run_in_executor(None, flood) < 32 << 20
        await until(lambda: watches(wire) == 0)
        stuck.close()
        await wire.is_well()


async def test_a_ping_after_the_goodbye_of_the_server_is_no_error(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    async with serving(monkeypatch) as wire:
        reader, writer = await wire.open()
        writer.write(wire.head("GET", MAPS + "?watch=1&timeoutSeconds=1", **WEBSOCKET))
        await reader.readuntil(b"\x88\x02\x03\xe8")
        writer.write(b"\x89\x80\0\0\0\0" + b"\x88\x82\0\0\0\0\x03\xe8")
        assert await ends(reader) == b""
    assert not [record for record in caplog.records if record.levelno >= logging.ERROR]


async def stuck_watcher(wire: Wire, headers: dict[str, str]) -> socket.socket:
    """A watch whose client never reads: a plain socket with small buffers, its TLS done by hand."""
    loop = asyncio.get_running_loop()
    raw = socket.socket()
    raw.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    raw.connect((wire.host, wire.port))

    def begin() -> socket.socket:
        secured = wire.tls.wrap_socket(raw, server_hostname=wire.host)
        secured.sendall(wire.head("GET", MAPS + "?watch=1", **headers))
        return secured

    return await loop.run_in_executor(None, begin)
