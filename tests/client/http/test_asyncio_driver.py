"""Connections on an event loop: what they read, when they are used again, and when not."""

from __future__ import annotations

import asyncio
import contextlib
import gzip
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from pathlib import Path
from ssl import PROTOCOL_TLS_SERVER, SSLContext, create_default_context

import pytest

from longshore.client.http import asyncio_driver, http1
from longshore.client.http.asyncio_driver import Pool
from longshore.client.http.http1 import BrokenOff, NoConnection
from longshore.up import own_certificates

pytestmark = pytest.mark.anyio
OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"


class Peer:
    """Answers each request with the next of its answers; the last one is repeated."""

    def __init__(self, answers: list[bytes]) -> None:
        self.answers, self.connections = answers, 0
        self.writers: list[asyncio.StreamWriter] = []
        self.ended = asyncio.Event()
        """Set when a client has closed its connection."""

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        self.writers.append(writer)
        while True:
            try:
                await reader.readuntil(b"\r\n\r\n")
            except (asyncio.IncompleteReadError, ConnectionError):
                writer.close()
                self.ended.set()
                return
            answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
            for at in range(0, len(answer), 7):  # in pieces, as networks do
                writer.write(answer[at : at + 7])
                await writer.drain()
            if b"close" in answer or not answer:
                writer.close()
                return


class Asked:
    """The way to a port of this machine, and connections."""

    def __init__(self, port: int, limit: int) -> None:
        self.route = http1.route(f"http://127.0.0.1:{port}")
        self.pool = Pool(self.route, None, limit=limit, seconds=5)


@asynccontextmanager
async def asked(*answers: bytes, limit: int = 10) -> AsyncIterator[tuple[Peer, Asked]]:
    peer = Peer([*answers])
    server = await asyncio.start_server(peer.serve, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    made = Asked(port, limit)
    try:
        yield peer, made
    finally:
        made.pool.close()
        server.close()
        for writer in peer.writers:
            await _closed(writer)


async def get(made: Asked, target: str = "/x") -> tuple[int, bytes]:
    answer = await made.pool.send(made.route.request("GET", target, [("Accept", "*/*")]))
    return answer.code, answer.body


@pytest.mark.parametrize(
    "answer",
    [
        OK,
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\no\r\n1\r\nk\r\n0\r\n\r\n",
        b"HTTP/1.1 100 Continue\r\n\r\n" + OK,
        b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\nok",
        b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: %d\r\n\r\n" % len(gzip.compress(b"ok"))
        + gzip.compress(b"ok"),
    ],
    ids=["length", "chunks", "after 100", "until the end", "gzip"],
)
async def test_an_answer_is_read_in_every_frame(answer: bytes) -> None:
    async with asked(answer) as (_, made):
        assert [await get(made) for _ in range(2)] == [(200, b"ok")] * 2


async def test_one_connection_serves_requests_one_after_the_other() -> None:
    async with asked(OK) as (peer, made):
        for _ in range(3):
            await get(made)
        assert peer.connections == 1


async def test_requests_at_once_have_a_connection_each_up_to_the_limit() -> None:
    async with asked(OK, limit=3) as (peer, made):
        assert await asyncio.gather(*(get(made) for _ in range(20))) == [(200, b"ok")] * 20
        assert 1 <= peer.connections <= 3


async def test_a_connection_that_the_server_is_about_to_close_is_not_used_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(asyncio_driver, "IDLE_SECONDS", -1.0)
    async with asked(OK) as (peer, made):
        await get(made)
        await get(made)
        assert peer.connections == 2


async def test_an_answer_that_breaks_off_is_none() -> None:
    answer = b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 9\r\n\r\nok"
    async with asked(answer, b"") as (_, made):
        for _ in answer, b"":
            with pytest.raises(BrokenOff, match="closed"):
                await get(made)


async def test_what_is_not_http_is_said_to_be_so() -> None:
    async with asked(b"220 mail.example ESMTP\r\n") as (_, made):
        with pytest.raises(BrokenOff, match="not HTTP"):
            await get(made)


async def test_who_gives_up_leaves_no_answer_for_the_next_one() -> None:
    async with asked(b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nlate", OK, limit=1) as (peer, made):
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.05):
                await get(made)
        assert await get(made) == (200, b"ok")
        assert peer.connections == 2


async def test_nobody_listens() -> None:
    gone = Asked(1, limit=1)
    for _ in range(2):  # the failure gave its place back
        with pytest.raises(NoConnection, match="cannot connect"):
            await get(gone)


async def test_a_line_break_never_becomes_another_header() -> None:
    async with asked(OK) as (peer, made):
        with pytest.raises(ValueError, match="control characters"):
            await get(made, "/x HTTP/1.1\r\nX: y")
        with pytest.raises(ValueError, match="line break"):
            made.route.request("GET", "/x", [("Accept", "a\r\nX: y")])
        assert peer.connections == 0


async def test_a_body_is_read_as_it_arrives_and_its_connection_used_again() -> None:
    packed = gzip.compress(b"ok" * 50)
    head = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nContent-Encoding: gzip\r\n\r\n"
    answer = head + b"%x\r\n%b\r\n0\r\n\r\n" % (len(packed), packed)
    async with asked(answer) as (peer, made):
        for _ in range(2):
            async with made.pool.open(made.route.request("GET", "/x", [])) as stream:
                assert stream.reader.code == 200
                assert await stream.read_all() == b"ok" * 50
        assert peer.connections == 1


async def test_a_body_that_is_left_unread_closes_its_connection() -> None:
    async with asked(b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhalf") as (peer, made):
        async with made.pool.open(made.route.request("GET", "/x", [])) as stream:
            assert await stream.read()
        await peer.ended.wait()


async def test_a_reader_that_takes_its_time_holds_the_server_back() -> None:
    sent, pieces = 0, 400
    piece = b"x" * 2**16

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal sent
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n")
        for _ in range(pieces):
            writer.write(piece)
            await writer.drain()
            sent += 1
        writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    made = Asked(server.sockets[0].getsockname()[1], 1)
    async with made.pool.open(made.route.request("GET", "/x", [])) as stream:
        before = -1
        while before != sent:  # until the server can send no more
            before = sent
            await asyncio.sleep(0.2)
        assert sent < pieces
        assert stream.reader.waiting < 2**20
        assert len(await stream.read_all()) == pieces * len(piece)
    server.close()


async def test_a_connection_that_says_something_unasked_is_not_used_again() -> None:
    async with asked(OK + OK, OK) as (peer, made):
        assert await get(made) == (200, b"ok")
        assert await get(made) == (200, b"ok")
        assert peer.connections == 2


@pytest.mark.parametrize("proxy_has_tls", [False, True])
async def test_a_tunnel_leads_through_a_proxy(proxy_has_tls: bool, tmp_path: Path) -> None:
    authority = own_certificates.ensure(tmp_path, datetime.now(UTC))
    serving = SSLContext(PROTOCOL_TLS_SERVER)
    serving.load_cert_chain(authority.server)
    peer = Peer([OK])
    server = await asyncio.start_server(peer.serve, "127.0.0.1", 0, ssl=serving)
    port = server.sockets[0].getsockname()[1]
    asked_for: list[bytes] = []
    over = asyncio.Event()

    async def pass_on(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        asked_for.append(await reader.readuntil(b"\r\n\r\n"))
        far_reader, far_writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(b"HTTP/1.1 200 Connection established\r\n\r\n")
        await asyncio.gather(_copied(reader, far_writer), _copied(far_reader, writer))
        over.set()

    proxy = await asyncio.start_server(pass_on, "127.0.0.1", 0, ssl=serving if proxy_has_tls else None)
    scheme = "https" if proxy_has_tls else "http"
    through = f"{scheme}://me:word@127.0.0.1:{proxy.sockets[0].getsockname()[1]}"
    made = Asked(port, 1)
    made.route = http1.route(f"https://[fd00::1]:{port}", through, "localhost")
    trust = create_default_context(cafile=str(authority.ca_cert))
    made.pool = Pool(made.route, trust, limit=1, seconds=10)
    assert [await get(made) for _ in range(2)] == [(200, b"ok")] * 2
    made.pool.close()
    await over.wait()
    assert len(asked_for) == 1
    assert asked_for[0].startswith(f"CONNECT [fd00::1]:{port} HTTP/1.1\r\n".encode())
    assert b"\r\nProxy-Authorization: Basic bWU6d29yZA==\r\n" in asked_for[0]
    for writer in peer.writers:
        await _closed(writer)
    for each in (proxy, server):
        each.close()


async def _copied(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with contextlib.suppress(OSError):
        while data := await reader.read(2**16):
            writer.write(data)
            await writer.drain()
    await _closed(writer)


async def _closed(writer: asyncio.StreamWriter) -> None:
    writer.close()
    with contextlib.suppress(OSError):
        await writer.wait_closed()


async def test_a_proxy_that_refuses_is_named() -> None:
    async with asked(b"HTTP/1.1 407 Proxy Authentication Required\r\nContent-Length: 0\r\n\r\n") as (_, made):
        made.route = http1.route("https://far.invalid", f"http://{made.route.authority}")
        made.pool = Pool(made.route, create_default_context(), limit=1, seconds=5)
        with pytest.raises(NoConnection, match="cannot connect: the proxy answered 407"):
            await get(made)
