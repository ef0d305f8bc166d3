"""Floods of connections without credentials: other clients are served, memory and descriptors come back."""

from __future__ import annotations

import asyncio
import os
import re
import socket
import ssl
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from longshore.apiserver.http.doorway import MAX_SILENT
from support.longshore_process import Up

CLIENTS = 3000
CROWD = 600
"""Clients at once, more than twice as many as handshakes are under way at a time."""
MAX_GROWTH_MIB = 40
"""With TLS begun for each of 3,000 connections it is 150."""
_BEGINNING = b"\x16\x03\x01\x02\x00"
"""The first bytes of a TLS record of 512, and no more."""
_SOME_DESCRIPTORS = 64
_PATIENCE_SECONDS = 60.0
_MAPS = "/api/v1/namespaces/default/configmaps"


@pytest.fixture(scope="module")
def up(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Up]:
    one = Up(tmp_path_factory.mktemp("flood") / "data", "--no-node", "--controllers", "none")
    one.start()
    try:
        yield one
    finally:
        one.stop()


def _memory_mib(up: Up) -> float:
    text = Path(f"/proc/{up.process.pid}/smaps_rollup").read_text()
    found = re.search(r"^Pss:\s+(\d+)", text, re.MULTILINE)
    assert found is not None
    return int(found[1]) / 1024


def _descriptors(up: Up) -> int:
    return len(os.listdir(f"/proc/{up.process.pid}/fd"))


def _until(condition: Callable[[], bool], what: str) -> None:
    end = time.monotonic() + _PATIENCE_SECONDS
    while not condition():
        assert time.monotonic() < end, what
        time.sleep(0.05)


@contextmanager
def _clients(up: Up, first_words: bytes) -> Iterator[None]:
    port = int(up.client.server.rpartition(":")[2])
    with ExitStack() as stack:
        for _ in range(CLIENTS):
            client = stack.enter_context(socket.create_connection(("127.0.0.1", port)))
            if first_words:
                client.sendall(first_words)
        yield


def test_clients_that_say_nothing_take_little_memory_and_are_given_up(up: Up) -> None:
    before, open_before = _memory_mib(up), _descriptors(up)
    with _clients(up, b""):
        up.client.made("GET", "/api/v1/namespaces/default/configmaps")
        _until(lambda: _descriptors(up) <= open_before + MAX_SILENT + _SOME_DESCRIPTORS, "there are too many")
        assert _memory_mib(up) - before < MAX_GROWTH_MIB
        _until(lambda: _descriptors(up) <= open_before + _SOME_DESCRIPTORS, "they are not given up in time")


def test_clients_that_stop_amid_their_hello_take_no_memory_and_are_given_up(up: Up) -> None:
    before, open_before = _memory_mib(up), _descriptors(up)
    with _clients(up, _BEGINNING):
        up.client.made("GET", _MAPS)
        _until(lambda: _descriptors(up) <= open_before + MAX_SILENT + _SOME_DESCRIPTORS, "there are too many")
        assert _memory_mib(up) - before < MAX_GROWTH_MIB
        _until(lambda: _descriptors(up) <= open_before + _SOME_DESCRIPTORS, "they are not given up in time")


def test_clients_that_stop_after_their_hello_take_little_memory_and_are_given_up(up: Up) -> None:
    before, open_before = _memory_mib(up), _descriptors(up)
    with _clients(up, _hello()):
        assert _memory_mib(up) - before < MAX_GROWTH_MIB
        _until(lambda: _descriptors(up) <= open_before + _SOME_DESCRIPTORS, "they are not given up in time")
        up.client.made("GET", _MAPS)
        assert _memory_mib(up) - before < MAX_GROWTH_MIB


def test_a_crowd_of_clients_that_mean_it_is_served_to_the_last(up: Up) -> None:
    port = int(up.client.server.rpartition(":")[2])
    tls = ssl.create_default_context()
    tls.check_hostname, tls.verify_mode = False, ssl.CERT_NONE

    async def ask() -> bytes:
        reader, writer = await asyncio.open_connection("127.0.0.1", port, ssl=tls)
        writer.write(b"GET /readyz HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")
        answer = await reader.readuntil(b"\r\n")
        writer.close()
        return answer

    async def crowd() -> set[bytes]:
        return set(await asyncio.gather(*(ask() for _ in range(CROWD))))

    assert asyncio.run(crowd()) == {b"HTTP/1.1 200 OK\r\n"}


def _hello() -> bytes:
    """The first record of a client that means it."""
    sent = ssl.MemoryBIO()
    client = ssl.create_default_context().wrap_bio(ssl.MemoryBIO(), sent, server_hostname="localhost")
    with pytest.raises(ssl.SSLWantReadError):
        client.do_handshake()
    return sent.read()
