"""SPDY frames in any pieces, and what is none."""

from __future__ import annotations

import asyncio
import struct
import zlib

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from longshore.apiserver.http.streams.spdy import spdy_frames as frames
from longshore.apiserver.http.streams.spdy.spdy_connection import SpdyConnection, Stream


def test_the_dictionary_is_the_one_of_the_standard() -> None:
    known = frames.dictionary()
    assert (len(known), zlib.adler32(known)) == (1423, 0xE3C6A7C2)


def test_headers_come_back_as_they_were_over_and_over() -> None:
    there, here = frames.Headers(), frames.Headers()
    for number in range(5):
        sent = {"streamtype": "data", "port": str(number), "requestid": "0"}
        assert here.unpack(there.pack(sent)) == sent


@settings(max_examples=50, deadline=None)
@given(st.lists(st.binary(max_size=50), max_size=6), st.integers(1, 7))
def test_frames_may_come_in_any_pieces(bodies: list[bytes], size: int) -> None:
    wire = b"".join(
        frames.data(at * 2 + 1, body, at % 2) if at % 3 else frames.control(frames.PING, body)
        for at, body in enumerate(bodies)
    )
    reader, found = frames.Reader(), []
    for at in range(0, len(wire), size):
        found += reader.feed(wire[at : at + size])
    assert [frame.body for frame in found] == bodies


@settings(max_examples=100, deadline=None)
@given(st.binary(max_size=200))
def test_garbage_is_refused_or_waited_for(garbage: bytes) -> None:
    try:
        for frame in frames.Reader(limit=1000).feed(garbage):
            if isinstance(frame, frames.Control) and frame.type == frames.SYN_STREAM:
                frames.Headers().unpack(frame.body[10:])
    except frames.BadFrame:
        pass


def test_headers_that_unfold_to_megabytes_are_refused() -> None:
    packer = zlib.compressobj(zdict=frames.dictionary())
    bomb = packer.compress(struct.pack(">II", 1, 1 << 24) + bytes(1 << 24)) + packer.flush(zlib.Z_SYNC_FLUSH)
    with pytest.raises(frames.BadFrame):
        frames.Headers().unpack(bomb)


class _Duplex:
    """Bytes given at the beginning, and those written."""

    def __init__(self, given: bytes) -> None:
        self._given, self.written, self.closed = [given, b""], b"", False

    async def read(self) -> bytes:
        return self._given.pop(0)

    async def write(self, data: bytes) -> None:
        self.written += data

    async def close(self) -> None:
        self.closed = True


@pytest.mark.anyio
async def test_a_stream_is_opened_answered_read_and_reset_with_the_connection() -> None:
    packed = frames.Headers().pack({"streamType": "stdin"})
    opening = frames.control(frames.SYN_STREAM, struct.pack(">IIH", 1, 0, 0) + packed)
    more = frames.data(1, b"hello") + frames.control(frames.PING, struct.pack(">I", 7))
    opened: list[Stream] = []
    duplex = _Duplex(opening + more)
    await SpdyConnection(duplex, opened.append).run()
    assert opened[0].headers == {"streamtype": "stdin"}
    assert await opened[0].read() == b"hello"
    assert await asyncio.wait_for(opened[0].read(), 1) == b""
    assert opened[0].reset
    answers = frames.Reader().feed(duplex.written)
    assert [frame.type for frame in answers if isinstance(frame, frames.Control)] == [
        frames.SYN_REPLY,
        frames.PING,
    ]
