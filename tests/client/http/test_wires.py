"""Connections without a framework: what they read, when they are used again, and when not."""

from __future__ import annotations

import asyncio
import gzip
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

import pytest

from longshore.client.http import wires
from longshore.client.http.wires import BrokenOff, NoConnection, Wires

pytestmark = pytest.mark.anyio
OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"


class Peer:
    """Answers each request with the next of its answers; the last one is repeated."""

    def __init__(self, answers: list[bytes]) -> None:
        self.answers, self.connections = answers, 0
        self.writers: list[asyncio.StreamWriter] = []

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        self.writers.append(writer)
        while True:
            try:
                await reader.readuntil(b"\r\n\r\n")
            except asyncio.IncompleteReadError:
                return
            answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
            for at in range(0, len(answer), 7):  # in pieces, as networks do
                writer.write(answer[at : at + 7])
                await writer.drain()
            if b"close" in answer or not answer:
                writer.close()
                return


@asynccontextmanager
async def asked(*answers: bytes, limit: int = 10) -> AsyncIterator[tuple[Peer, Wires]]:
    peer = Peer([*answers])
    server = await asyncio.start_server(peer.serve, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    made = Wires(f"http://127.0.0.1:{port}", None, name="", limit=limit, seconds=5)
    try:
        yield peer, made
    finally:
        made.close()
        server.close()
        for writer in peer.writers:
            writer.close()


async def get(made: Wires, target: str = "/x", fence: Callable[[], None] | None = None) -> tuple[int, bytes]:
    answer = await made.send("GET", target, [("Accept", "*/*")], b"", fence)
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
    monkeypatch.setattr(wires, "IDLE_SECONDS", -1.0)
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
    gone = Wires("http://127.0.0.1:1", None, name="", limit=1, seconds=5)
    for _ in range(2):  # the failure gave its place back
        with pytest.raises(NoConnection, match="cannot connect"):
            await get(gone)


async def test_a_line_break_never_becomes_another_header() -> None:
    async with asked(OK) as (peer, made):
        with pytest.raises(ValueError, match="control characters"):
            await get(made, "/x HTTP/1.1\r\nX: y")
        with pytest.raises(ValueError, match="line break"):
            await made.send("GET", "/x", [("Accept", "a\r\nX: y")], b"", None)
        assert peer.connections == 0
