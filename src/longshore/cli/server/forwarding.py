"""Connections on ports of this machine, carried to a pod: a WebSocket for each.

Of a forwarded port's two channels, 0 is data and 1 is an error in words; both begin with the port's number.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import socket
import sys
from collections.abc import Sequence
from functools import partial
from typing import Final

import aiohttp

from longshore.api.errors import StatusError
from longshore.api.types import Obj
from longshore.cli.arguments.pod_ports import Pair
from longshore.cli.main import Failure, Said
from longshore.cli.server import websockets
from longshore.cli.server.requests import Server
from longshore.client.config.connection import is_loopback

_PROTOCOL: Final = "v4.channel.k8s.io"
_DATA, _ERROR = 0, 1
_PORT_BYTES: Final = 2
_READ_BYTES: Final = 2**16
_SILENCE_SECONDS: Final = 5.0
"""Of a pod whose client has ended its side: the protocol cannot pass that end on."""


async def forward(server: Server, pod: Obj, pairs: Sequence[Pair], addresses: Sequence[str]) -> int:
    """Listens until Ctrl-C or TERM, and returns the exit code."""
    for pair in pairs:
        _refuse_a_loop(pod, pair)
    stop = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    async with contextlib.AsyncExitStack() as open_ports:
        for pair in pairs:
            for listener in _listeners(pair.local, addresses):
                _say(listener, pair)
                serve = partial(_serve, server, pod, pair.remote, listener.getsockname()[1])
                await open_ports.enter_async_context(await asyncio.start_server(serve, sock=listener))
        sys.stdout.flush()
        await stop.wait()
    return 0


def _refuse_a_loop(pod: Obj, pair: Pair) -> None:
    """A pod on this machine's network, whose port nobody listens on, would be given this listener for it."""
    address = (pod.get("status") or {}).get("podIP") or ""
    if pair.local != pair.remote or not is_loopback(address):
        return
    try:
        socket.create_connection((address, pair.remote), timeout=1).close()
    except OSError:
        name = pod["metadata"]["name"]
        raise Said(
            f"error: nothing listens on port {pair.remote} of pod {name}, which shares this machine's "
            f"network; choose another port here: longshore port-forward pod/{name} :{pair.remote}"
        ) from None


def _listeners(port: int, addresses: Sequence[str]) -> list[socket.socket]:
    """Sockets on all addresses, on one port number. `localhost` needs one of its two addresses."""
    found: list[socket.socket] = []
    for address in addresses:
        hosts = ("127.0.0.1", "::1") if address == "localhost" else (address,)
        problems = []
        for host in hosts:
            try:
                family = socket.AF_INET6 if ":" in host else socket.AF_INET
                found.append(socket.create_server((host, port), family=family))
                port = port or found[-1].getsockname()[1]
            except OSError as err:
                problems.append(f"{host}: {os.strerror(err.errno) if err.errno else err}")
        if len(problems) == len(hosts):
            raise Said(f"error: unable to listen on port {port}: {'; '.join(problems)}")
    return found


def _say(listener: socket.socket, pair: Pair) -> None:
    host, port = listener.getsockname()[:2]
    print(f"Forwarding from {f'[{host}]' if ':' in host else host}:{port} -> {pair.remote}")


async def _serve(
    server: Server,
    pod: Obj,
    port: int,
    local: int,
    reader: asyncio.StreamReader,
    writer: asyncio.StreamWriter,
) -> None:
    print(f"Handling connection for {local}", flush=True)
    path = websockets.path(pod, "portforward")
    try:
        async with websockets.connected(server, path, [("ports", str(port))], [_PROTOCOL]) as far:
            giving = asyncio.create_task(_give(reader, far))
            try:
                await _take(far, writer, giving)
            finally:
                giving.cancel()
    except asyncio.CancelledError:
        pass  # the command ends
    except (StatusError, Failure, ConnectionError) as err:
        print(f"error: {err}", file=sys.stderr, flush=True)
    finally:
        writer.close()
        with contextlib.suppress(OSError, asyncio.CancelledError):
            await writer.wait_closed()


async def _give(reader: asyncio.StreamReader, far: aiohttp.ClientWebSocketResponse) -> None:
    """Sends what the near side writes. Its end closes nothing: the pod may still answer."""
    with contextlib.suppress(ConnectionError):
        while data := await reader.read(_READ_BYTES):
            await far.send_bytes(bytes([_DATA]) + data)


async def _take(
    far: aiohttp.ClientWebSocketResponse, writer: asyncio.StreamWriter, giving: asyncio.Task[None]
) -> None:
    """Writes what the pod sends, until the pod ends it, or is silent after the near side has ended."""
    begun: set[int] = set()
    while True:
        try:
            message = await far.receive(_SILENCE_SECONDS)
        except TimeoutError:
            if giving.done():
                return
            continue
        if message.type is not aiohttp.WSMsgType.BINARY:
            return
        channel, data = message.data[0], message.data[1:]
        if channel not in begun:
            begun.add(channel)
            data = data[_PORT_BYTES:]
        if channel == _DATA and data:
            writer.write(data)
            await writer.drain()
        elif channel == _ERROR and data:
            raise Failure(data.decode(errors="replace"))
