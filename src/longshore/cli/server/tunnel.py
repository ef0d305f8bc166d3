"""Both ends of an exec or attach: this terminal and a WebSocket with Kubernetes' channels (v5, else v4).

The first byte of a message names its channel: 0 input, 1 output, 2 errors, 3 the exit status, 4 the
window's size, 255 the end of a stream.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import signal
import stat
import sys
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import IO, Final

from longshore.api.types import Obj
from longshore.cli.main import Failure, Said
from longshore.cli.printing.guarded_streams import unguarded
from longshore.cli.server.requests import Answer, Server, encoded, refusal
from longshore.client.http.transport import Transport
from longshore.client.http.websocket_client import Handshake, WebSocket

_PROTOCOLS: Final = ("v5.channel.k8s.io", "v4.channel.k8s.io")
_INPUT, _OUTPUT, _ERRORS, _END, _SIZE, _CLOSE = 0, 1, 2, 3, 4, 255


@dataclass
class Ends:
    """The local ends of the streams. Without `stdin` nothing is sent; with `tty` all output is one stream."""

    stdin: IO[bytes] | None = None
    stdout: IO[bytes] = field(default_factory=lambda: unguarded(sys.stdout).buffer)
    stderr: IO[bytes] = field(default_factory=lambda: unguarded(sys.stderr).buffer)
    tty: bool = False

    @property
    def query(self) -> list[tuple[str, str]]:
        """The query parameters that ask the server for these streams."""
        flags = {"stdin": self.stdin is not None, "stdout": True, "stderr": not self.tty, "tty": self.tty}
        return [(name, "true") for name, on in flags.items() if on]


def typed(*, stdin: bool, tty: bool) -> Ends:
    """The ends for a person at a keyboard."""
    return Ends(sys.stdin.buffer if stdin else None, tty=tty)


async def talk(server: Server, path: str, query: Sequence[tuple[str, str]], ends: Ends) -> int:
    """Carries all channels both ways until the command has ended; returns its exit code."""
    async with connected(server, path, [*query, *ends.query], _PROTOCOLS) as socket:
        with _terminal(ends.tty and ends.stdin is not None):
            tasks = [asyncio.create_task(_give(socket, ends.stdin))] if ends.stdin is not None else []
            if ends.tty:
                _follow_size(socket)
            try:
                return await _take(socket, ends)
            finally:
                for task in tasks:
                    task.cancel()


async def _take(socket: WebSocket, ends: Ends) -> int:
    streams = {_OUTPUT: ends.stdout, _ERRORS: ends.stderr}
    async for message in socket:
        if not message:
            continue
        channel, data = message[0], message[1:]
        if channel in streams:
            streams[channel].write(data)
            streams[channel].flush()
        elif channel == _END and data:
            return _code(data)
    raise Failure("the connection ended before the command did")


def _code(data: bytes) -> int:
    status = json.loads(data)
    if status.get("status") == "Success":
        return 0
    for cause in (status.get("details") or {}).get("causes") or ():
        if cause.get("reason") == "ExitCode":
            return int(cause["message"])
    raise Said(f"error: {status.get('message', 'the command could not be run')}")


async def _give(socket: WebSocket, source: IO[bytes]) -> None:
    """Sends the input until its end."""
    loop = asyncio.get_running_loop()
    if _is_waited_for(source):
        reader = asyncio.StreamReader()
        await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), source)
        while data := await reader.read(2**16):
            await socket.send(bytes([_INPUT]) + data)
    else:
        while data := await loop.run_in_executor(None, source.read, 2**16):
            await socket.send(bytes([_INPUT]) + data)
    if socket.protocol == _PROTOCOLS[0]:
        await socket.send(bytes([_CLOSE, _INPUT]))


def _is_waited_for(source: IO[bytes]) -> bool:
    """Whether the event loop can wait for the input. It cannot for a file or /dev/null, which always have
    their next bytes or their end ready."""
    mode = os.fstat(source.fileno()).st_mode
    return stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode) or source.isatty()


def _follow_size(socket: WebSocket) -> None:
    """Sends the window's size, now and after each change."""
    loop = asyncio.get_running_loop()
    sending: set[asyncio.Task[None]] = set()

    def tell() -> None:
        with contextlib.suppress(OSError):
            size = os.get_terminal_size()
            text = json.dumps({"Width": size.columns, "Height": size.lines}).encode()
            task = loop.create_task(socket.send(bytes([_SIZE]) + text))
            sending.add(task)
            task.add_done_callback(sending.discard)

    tell()
    loop.add_signal_handler(signal.SIGWINCH, tell)


@contextlib.contextmanager
def _terminal(raw: bool) -> Iterator[None]:
    """Sends every key to the other side, Ctrl-C too, and restores the terminal afterwards."""
    if not raw or not sys.stdin.isatty():
        yield
        return
    import termios
    import tty

    before = termios.tcgetattr(sys.stdin)
    tty.setraw(sys.stdin)
    try:
        yield
    finally:
        termios.tcsetattr(sys.stdin, termios.TCSADRAIN, before)


# WebSockets of the command line to a server: exec, attach and port-forward begin here.

_SWITCHED: Final = 101
_HANDSHAKE_SECONDS: Final = 65.0
"""A little more than the server's own timeout of a minute."""


def path(pod: Obj, below: str) -> str:
    """The path of a subresource of a pod."""
    return f"/api/v1/namespaces/{pod['metadata']['namespace']}/pods/{pod['metadata']['name']}/{below}"


@asynccontextmanager
async def connected(
    server: Server, path: str, query: Sequence[tuple[str, str]], protocols: Sequence[str]
) -> AsyncIterator[WebSocket]:
    """An open WebSocket that speaks one of the protocols. Raises StatusError with the server's refusal."""
    transport, handshake = Transport(server.connection, agent="longshore"), Handshake(protocols)
    opened = transport.open(
        f"{path}?{encoded(query)}",
        query={},
        headers=handshake.headers,
        seconds=_HANDSHAKE_SECONDS,
        retry=False,  # the server may have begun to run a command
    )
    try:
        async with opened as stream:
            if stream.reader.code != _SWITCHED:
                raise refusal(Answer(stream.reader.code, await stream.read_all()))
            socket = handshake.accepted(stream)
            try:
                yield socket
            finally:
                await socket.close()
    finally:
        await transport.close()
