"""Frames between longshore and its keeper: cut in any way, and never longer than the keeper accepts."""

from __future__ import annotations

import asyncio

import pytest

from longshore.node.keeper import frames
from longshore.node.runtime import CannotStart
from support.keeper_engine import Engine

MESSAGES: list[frames.Message] = [("a", 1, "x" * 10), ("b", 2, None), ("c", 3, ["y"] * 300), ("d", 4, "")]


@pytest.mark.parametrize("size", [1, 2, 3, 4, 5, 7, 64, 1 << 16])
def test_messages_are_found_however_the_stream_is_cut(size: int) -> None:
    stream = b"".join(map(frames.pack, MESSAGES))
    unpacker = frames.Unpacker()
    pieces = [stream[at : at + size] for at in range(0, len(stream), size)]
    assert [message for piece in pieces for message in unpacker.feed(piece)] == MESSAGES


def test_a_long_frame_in_small_pieces_is_copied_a_few_times_at_most() -> None:
    """128 MiB in pieces of 4 KiB: copied again with each piece, that would be two TiB."""
    message: frames.Message = ("start", 1, "x" * (128 << 20))
    stream = frames.pack(message)
    unpacker = frames.Unpacker()
    found: list[frames.Message] = []
    for at in range(0, len(stream), 4096):
        found += unpacker.feed(stream[at : at + 4096])
    assert found == [message]


def test_a_frame_beyond_the_limit_is_refused_by_its_length_alone() -> None:
    unpacker = frames.Unpacker(limit=100)
    assert unpacker.feed(frames.pack(("a", 1, "x"))) == [("a", 1, "x")]
    with pytest.raises(frames.FrameTooLong):
        unpacker.feed((101).to_bytes(4, "little"))


@pytest.mark.anyio
async def test_a_request_beyond_the_limit_is_refused_and_the_keeper_goes_on(engine: Engine) -> None:
    keeper = engine.keeper
    with pytest.raises(CannotStart, match="longer than the 16 MiB of a request"):
        await engine.start("true", "x" * (17 << 20))
    assert (await engine.run("true")).exit_code == 0
    assert engine.keeper == keeper


@pytest.mark.anyio
async def test_a_peer_that_sends_a_frame_beyond_the_limit_is_hung_up_on(engine: Engine) -> None:
    keeper = engine.keeper
    reader, writer = await asyncio.open_connection(sock=engine.runtime._keepers.current.dial())
    writer.write((17 << 20).to_bytes(4, "little"))
    assert await reader.read() == b""
    writer.close()
    await engine.start("sleep", "100")
    assert engine.keeper == keeper


@pytest.mark.anyio
async def test_an_exec_with_more_arguments_than_a_socket_holds_gets_them_all(engine: Engine) -> None:
    state = await engine.start("sleep", "100")
    command = ("sh", "-c", "echo $#", "sh", *["x" * 100_000] * 15)
    session = await engine.runtime.exec(state.key, command, stdin=False, tty=False)
    said = [data async for _, data in session.output()]
    await session.close()
    assert b"".join(said) == b"15\n"
