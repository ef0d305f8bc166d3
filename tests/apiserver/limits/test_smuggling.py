"""Requests on whose end two readers could disagree: refused with a Status, and all behind them is dropped."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from apiserver.limits.wire import MAPS, Wire, answer, ends, serving

pytestmark = pytest.mark.anyio

SMUGGLED = b"DELETE /api/v1/namespaces/default/configmaps HTTP/1.1\r\nHost: a\r\n\r\n"


@pytest.fixture
async def wire(anyio_backend: str, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Wire]:
    async with serving(monkeypatch, linger=0.2) as wire:
        yield wire


def post(wire: Wire, lines: bytes, body: bytes = b"{}") -> bytes:
    return wire.head("POST", MAPS)[:-2] + lines + b"\r\n" + body


CHUNKED = b"Transfer-Encoding: chunked\r\n"


@pytest.mark.parametrize(
    ("lines", "body"),
    [
        pytest.param(b"Content-Length: 2\r\nContent-Length: 2\r\n", b"{}", id="two lengths"),
        pytest.param(b"Content-Length: 2\r\nContent-Length: 3\r\n", b"{}", id="two different lengths"),
        pytest.param(b"Content-Length: 2, 2\r\n", b"{}", id="a list of lengths"),
        pytest.param(b"Content-Length: +2\r\n", b"{}", id="a length with a sign"),
        pytest.param(b"Content-Length: 0x2\r\n", b"{}", id="a length in hex"),
        pytest.param(b"Content-Length: 2 2\r\n", b"{}", id="a length with a space"),
        pytest.param(b"Content-Length:\r\n", b"", id="no length"),
        pytest.param(b"Content-Length: 99999999999999999999\r\n", b"", id="a length beyond counting"),
        pytest.param(b"Content-Length: \xb2\r\n", b"{}", id="a length in other digits"),
        pytest.param(b"Content-Length: 2\r\n" + CHUNKED, b"0\r\n\r\n", id="length, then chunks"),
        pytest.param(CHUNKED + b"Content-Length: 2\r\n", b"0\r\n\r\n", id="chunks, then length"),
        pytest.param(CHUNKED + CHUNKED, b"0\r\n\r\n", id="chunks twice"),
        pytest.param(b"Transfer-Encoding: gzip, chunked\r\n", b"0\r\n\r\n", id="packed chunks"),
        pytest.param(b"Transfer-Encoding: chunked, gzip\r\n", b"0\r\n\r\n", id="chunks, packed"),
        pytest.param(b"Transfer-Encoding: identity\r\n", b"{}", id="identity"),
        pytest.param(b"Transfer-Encoding: xchunked\r\n", b"0\r\n\r\n", id="almost chunked"),
        pytest.param(
            b"Transfer-Encoding: \x0bchunked\r\n", b"0\r\n\r\n", id="chunked behind a control character"
        ),
        pytest.param(b"X: a\r\n b\r\n", b"", id="a folded line"),
        pytest.param(b"X: a\r\n\tContent-Length: 2\r\n", b"", id="a folded length"),
        pytest.param(b"X: a\nY: b\r\n", b"", id="a LF alone"),
        pytest.param(b"X: a\rY: b\r\n", b"", id="a CR alone"),
        pytest.param(b"X: a\x00b\r\n", b"", id="NUL in a value"),
        pytest.param(b"X\x00: a\r\n", b"", id="NUL in a name"),
        pytest.param(b"Content-Length : 2\r\n", b"{}", id="a space before the colon"),
        pytest.param(b" Content-Length: 2\r\n", b"{}", id="a space before the name"),
        pytest.param(b": a\r\n", b"", id="no name"),
        pytest.param(b"X\r\n", b"", id="no colon"),
        pytest.param(b"Host: b\r\n", b"", id="two hosts"),
        pytest.param(b"Authorization: Bearer other\r\n", b"", id="two credentials"),
        pytest.param(CHUNKED, b"zz\r\n{}\r\n0\r\n\r\n", id="a chunk size that is none"),
        pytest.param(CHUNKED, b"-2\r\n{}\r\n0\r\n\r\n", id="a negative chunk"),
        pytest.param(CHUNKED, b"0x2\r\n{}\r\n0\r\n\r\n", id="a chunk size with 0x"),
        pytest.param(CHUNKED, b"2 \r\n{}\r\n0\r\n\r\n", id="a chunk size with a space"),
        pytest.param(CHUNKED, b"fffffffffffffffff\r\n", id="a chunk beyond counting"),
        pytest.param(CHUNKED, b"2\n{}\r\n0\r\n\r\n", id="a chunk behind a LF alone"),
        pytest.param(CHUNKED, b"2\r\n{}0\r\n\r\n", id="a chunk longer than it says"),
        pytest.param(CHUNKED, b"2;a\nb\r\n{}\r\n0\r\n\r\n", id="a chunk extension with a LF alone"),
        pytest.param(CHUNKED, b"0\r\nContent-Length: 2\r\n\r\n", id="a length behind the chunks"),
        pytest.param(
            b"Connection: Upgrade\r\nUpgrade: h2c\r\nContent-Length: %d\r\n" % len(SMUGGLED),
            b"",
            id="another protocol, with a body",
        ),
        pytest.param(
            b"Connection: Upgrade\r\nUpgrade: h2c\r\n" + CHUNKED,
            b"0\r\n\r\n",
            id="another protocol, with chunks",
        ),
    ],
)
async def test_a_request_that_smuggles_is_refused_and_nothing_behind_it_is_read(
    wire: Wire, lines: bytes, body: bytes
) -> None:
    kept = wire.store.revision
    reader, writer = await wire.open()
    writer.write(post(wire, lines, body) + SMUGGLED.replace(b"Host: a", b"Host: a\r\n" + _token(wire)))
    code, status = await answer(reader)
    assert (code, status["kind"], status["reason"]) == (400, "Status", "BadRequest")
    assert await ends(reader) == b""
    assert wire.store.revision == kept
    await wire.is_well()


def _token(wire: Wire) -> bytes:
    return f"Authorization: Bearer {wire.token}".encode()


@pytest.mark.parametrize(
    ("raw", "code"),
    [
        pytest.param(b"GET /version\r\n\r\n", 400, id="HTTP/0.9"),
        pytest.param(b"GET /version HTTP/0.9\r\n\r\n", 400, id="HTTP/0.9 by name"),
        pytest.param(b"GET /version HTTP/1.2\r\nHost: a\r\n\r\n", 400, id="HTTP/1.2"),
        pytest.param(b"GET /version HTTP/2.0\r\nHost: a\r\n\r\n", 400, id="HTTP/2.0"),
        pytest.param(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 400, id="the preface of HTTP/2"),
        pytest.param(b"GET /version HTTP/1.1 \r\nHost: a\r\n\r\n", 400, id="a space behind the version"),
        pytest.param(b"GET /version HTTP/1.1\nHost: a\n\n", 400, id="LF for CRLF"),
        pytest.param(b"GET /version HTTP/1.1\rHost: a\r\n\r\n", 400, id="CR for CRLF"),
        pytest.param(b"GET /ver sion HTTP/1.1\r\nHost: a\r\n\r\n", 400, id="a space in the path"),
        pytest.param(b"GET /\xff HTTP/1.1\r\nHost: a\r\n\r\n", 400, id="a path that is not ASCII"),
        pytest.param(b"GET /\x00 HTTP/1.1\r\nHost: a\r\n\r\n", 400, id="NUL in the path"),
        pytest.param(b"GET /version HTTP/1.1\r\n\r\n", 400, id="no host"),
        pytest.param(
            b"POST /version HTTP/1.0\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
            400,
            id="chunks in HTTP/1.0",
        ),
        pytest.param(b"FOO /version HTTP/1.1\r\nHost: a\r\n\r\n", 403, id="a method nobody knows"),
        pytest.param(b"get /version HTTP/1.1\r\nHost: a\r\n\r\n", 405, id="a method in lower case"),
        pytest.param(b"\x16\x03\x01\x02\x00\x01\x00\x01", 400, id="no HTTP at all"),
    ],
)
async def test_another_protocol_than_http_1_is_refused(wire: Wire, raw: bytes, code: int) -> None:
    reader, writer = await wire.open()
    writer.write(raw)
    found, status = await answer(reader)
    assert (found, status["kind"]) == (code, "Status")
    assert await ends(reader) == b""


async def test_garbage_behind_a_good_request_is_refused_after_its_answer(wire: Wire) -> None:
    reader, writer = await wire.open()
    writer.write(wire.head("GET", MAPS) + b"garbage\r\n\r\n")
    assert (await answer(reader))[0] == 200
    assert (await answer(reader))[0] == 400
    assert await ends(reader) == b""


async def test_what_stands_around_chunks_has_an_end(wire: Wire) -> None:
    for extra in (b"2;" + b"a" * 1_000_000, b"0\r\n" + b"X: a\r\n" * 200_000):
        reader, writer = await wire.open()
        writer.write(post(wire, CHUNKED, extra))
        code, status = await answer(reader)
        assert (code, status["kind"]) == (400, "Status")
        assert await ends(reader) == b""


async def test_trailers_and_extensions_of_chunks_are_read_over(wire: Wire) -> None:
    body = b'2;name=value\r\n{"\r\n19\r\nmetadata":{"name":"odd"}}\r\n0\r\nX-Trailer: a\r\nHost: b\r\n\r\n'
    reader, writer = await wire.open()
    writer.write(post(wire, CHUNKED, body) + wire.head("GET", f"{MAPS}/odd"))
    assert (await answer(reader))[0] == 201
    assert (await answer(reader))[0] == 200
