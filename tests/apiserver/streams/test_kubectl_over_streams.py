"""What kubectl does with a running pod, over WebSocket as it prefers and over SPDY as it used to."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest

from apiserver.streams.conftest import Kubectl, Stage

pytestmark = pytest.mark.anyio

OVER = {
    "websocket": {},
    "spdy": {"KUBECTL_REMOTE_COMMAND_WEBSOCKETS": "false", "KUBECTL_PORT_FORWARD_WEBSOCKETS": "false"},
}


@pytest.fixture(params=OVER)
def over(request: pytest.FixtureRequest) -> dict[str, str]:
    chosen: dict[str, str] = OVER[request.param]
    return chosen


async def test_exec_gives_output_and_exit_code(stage: Stage, kubectl: Kubectl, over: dict[str, str]) -> None:
    await stage.pod()
    result = await kubectl("exec", "p", "--", "sh", "-c", "echo out; echo err >&2; exit 3", env=over)
    assert result.exit == 3, result
    assert result.stdout == b"out\n"
    assert result.stderr == b"err\ncommand terminated with exit code 3\n"


async def test_exec_passes_input_to_its_end(stage: Stage, kubectl: Kubectl, over: dict[str, str]) -> None:
    await stage.pod()
    text = b"".join(b"line %d\n" % n for n in range(50_000))
    assert await kubectl.ok("exec", "-i", "p", "--", "cat", stdin=text, env=over) == text


async def test_exec_of_nothing_says_so(stage: Stage, kubectl: Kubectl, over: dict[str, str]) -> None:
    await stage.pod()
    result = await kubectl("exec", "p", "--", "no-such-command", env=over)
    assert result.exit == 1
    assert b"error executing command in container: " in result.stderr
    assert b"no-such-command" in result.stderr


async def test_exec_into_a_container_that_does_not_run(
    stage: Stage, kubectl: Kubectl, over: dict[str, str]
) -> None:
    await stage.pod()
    stage.door.running = False
    result = await kubectl("exec", "p", "--", "true", env=over)
    assert result.exit == 1
    assert b'container not found ("main")' in result.stderr


async def test_cp_both_ways(stage: Stage, kubectl: Kubectl, over: dict[str, str]) -> None:
    await stage.pod()
    content = bytes(range(256)) * 3000
    (kubectl.home / "there").mkdir()
    (kubectl.home / "given").write_bytes(content)
    await kubectl.ok("cp", "given", f"p:{kubectl.home}/there/taken", env=over)
    assert (kubectl.home / "there" / "taken").read_bytes() == content
    await kubectl.ok("cp", f"p:{kubectl.home}/there/taken", "back", env=over)
    assert (kubectl.home / "back").read_bytes() == content


async def test_attach_joins_the_streams_of_a_container(
    stage: Stage, kubectl: Kubectl, over: dict[str, str]
) -> None:
    await stage.pod()
    # The pod's container has no stdin of its own, so kubectl warns; it attaches all the same.
    process = await kubectl.start("attach", "p", env=over)
    while not stage.door.sessions:  # noqa: ASYNC110 - no event tells
        await asyncio.sleep(0.01)
    await stage.door.sessions[0].write(b"hello\n")
    await stage.door.sessions[0].close_input()
    out, err = await process.communicate()
    assert out == b"hello\n", err


@pytest.fixture
async def echo_port(anyio_backend: object) -> AsyncIterator[int]:
    writers = []

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writers.append(writer)
        while data := await reader.read(65536):
            writer.write(data.upper())
            await writer.drain()
        writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    yield server.sockets[0].getsockname()[1]
    server.close()
    for writer in writers:
        writer.transport.abort()
    await asyncio.sleep(0)


async def test_port_forward_carries_connections(
    stage: Stage, kubectl: Kubectl, over: dict[str, str], echo_port: int
) -> None:
    await stage.pod()
    process = await kubectl.start("port-forward", "p", f":{echo_port}", env=over)
    assert process.stdout
    line = (await asyncio.wait_for(process.stdout.readline(), 10)).decode()
    port = int(line.split("127.0.0.1:")[1].split(" ")[0])

    async def talk(text: bytes) -> None:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(text)
        writer.write_eof()
        assert await reader.read() == text.upper()
        writer.close()

    await asyncio.wait_for(talk(b"hello"), 5)
    await asyncio.wait_for(asyncio.gather(*(talk(b"%d" % n + b"abc" * 100_000) for n in range(4))), 10)
    process.terminate()
    await process.communicate()


async def test_port_forward_to_a_closed_port_says_so(
    stage: Stage, kubectl: Kubectl, over: dict[str, str], unused_port: int
) -> None:
    await stage.pod()
    process = await kubectl.start("port-forward", "p", f":{unused_port}", env=over)
    assert process.stdout
    line = (await asyncio.wait_for(process.stdout.readline(), 10)).decode()
    reader, writer = await asyncio.open_connection(
        "127.0.0.1", int(line.split("127.0.0.1:")[1].split(" ")[0])
    )
    assert await asyncio.wait_for(reader.read(), 5) == b""
    writer.close()
    _, err = await asyncio.wait_for(process.communicate(), 10)
    assert f"error forwarding port {unused_port} to pod p".encode() in err


@pytest.fixture
def unused_port() -> int:
    import socket

    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))
        port: int = bound.getsockname()[1]
        return port


async def test_logs_are_followed_to_the_end(stage: Stage, kubectl: Kubectl) -> None:
    await stage.pod()
    stage.door.lines += [b"one\n", b"two\n"]
    assert await kubectl.ok("logs", "p") == b"one\ntwo\n"
    process = await kubectl.start("logs", "-f", "p")
    assert process.stdout
    assert await process.stdout.readline() == b"one\n"
    assert await process.stdout.readline() == b"two\n"
    stage.door.lines.append(b"three\n")
    assert await process.stdout.readline() == b"three\n"
    stage.door.ended.set()
    out, _ = await process.communicate()
    assert (out, process.returncode) == (b"", 0)


async def test_logs_say_which_lines(stage: Stage, kubectl: Kubectl) -> None:
    await stage.pod()
    await kubectl.ok("logs", "p", "--tail=5", "--since=10m", "--timestamps", "--limit-bytes=9", "-p")
    asked = stage.door.asked[0]
    assert (asked.tail_lines, asked.since_seconds, asked.limit_bytes) == (5, 600, 9)
    assert asked.timestamps
    assert asked.previous
    assert not asked.follow
