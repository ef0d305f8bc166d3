"""Forwards connections on ports of this machine to a pod, each by a WebSocket.

A forwarded port has two channels: 0 is data and 1 is an error in words. Both begin with the port's number.
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
from typing import Final, NamedTuple

from longshore.api.errors import StatusError
from longshore.api.types import Obj
from longshore.cli.arguments import kinds, targets
from longshore.cli.main import Failure, Said
from longshore.cli.server import tunnel
from longshore.cli.server.requests import Server
from longshore.client.config.connection import is_loopback
from longshore.client.errors import Unreachable
from longshore.client.http.websocket_client import WebSocket

_PROTOCOL: Final = "v4.channel.k8s.io"
_DATA, _ERROR = 0, 1
_PORT_BYTES: Final = 2
_READ_BYTES: Final = 2**16
_SILENCE_SECONDS: Final = 5.0
"""Seconds of silence that end the pod's side once the client has ended: the protocol has no message for
that."""


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
    """Refuses a port on which the pod does not listen, if the pod shares this machine's network: the
    connection would come back here."""
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
    """Sockets on all addresses, on one port number. For `localhost` one of its two addresses is enough."""
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
    path = tunnel.path(pod, "portforward")
    try:
        async with tunnel.connected(server, path, [("ports", str(port))], [_PROTOCOL]) as far:
            giving = asyncio.create_task(_give(reader, far))
            try:
                await _take(far, writer, giving)
            finally:
                giving.cancel()
    except asyncio.CancelledError:
        pass  # the command ends
    except (StatusError, Failure, Unreachable, ConnectionError) as err:
        print(f"error: {err}", file=sys.stderr, flush=True)
    finally:
        writer.close()
        with contextlib.suppress(OSError, asyncio.CancelledError):
            await writer.wait_closed()


async def _give(reader: asyncio.StreamReader, far: WebSocket) -> None:
    """Sends what the near side writes. At its end nothing is closed: the pod may still answer."""
    with contextlib.suppress(ConnectionError):
        while data := await reader.read(_READ_BYTES):
            await far.send(bytes([_DATA]) + data)


async def _take(far: WebSocket, writer: asyncio.StreamWriter, giving: asyncio.Task[None]) -> None:
    """Writes what the pod sends, until its end, or until it is silent after the near side has ended."""
    begun: set[int] = set()
    while True:
        try:
            async with asyncio.timeout(_SILENCE_SECONDS):
                message = await far.receive()
        except TimeoutError:
            if giving.done():
                return
            continue
        if not message:
            return
        channel, data = message[0], message[1:]
        if channel not in begun:
            begun.add(channel)
            data = data[_PORT_BYTES:]
        if channel == _DATA and data:
            writer.write(data)
            await writer.drain()
        elif channel == _ERROR and data:
            raise Failure(data.decode(errors="replace"))


class Pair(NamedTuple):
    """A port on this machine, 0 for any free one, and the pod's port."""

    local: int
    remote: int


def service(server: Server, word: str) -> Obj | None:
    """The Service that a word names; None if it names another kind."""
    if word.partition("/")[0] not in ("svc", "service", "services"):
        return None
    (target,) = targets.parse(kinds.discover(server), [word], server.namespace)
    return server.json("GET", target.path)


def pair(text: str, pod: Obj, service: Obj | None = None) -> Pair:
    """The ports that `[LOCAL:]REMOTE` stands for."""
    first, colon, second = text.partition(":")
    remote = second if colon else first
    if ":" in remote or not remote:
        raise Said(f"error: invalid port format '{text}'", 2)
    asked = _of_service(service, remote) if service is not None else remote
    found = _of_pod(pod, asked)
    if not colon:
        return Pair(_port_number(first) if first.isdigit() else found, found)
    return Pair(_port_number(first) if first else 0, found)


def _of_service(service: Obj, remote: str) -> str:
    """The target of a service's port, which may be the name of a pod's port."""
    name = service["metadata"]["name"]
    for port in service["spec"].get("ports") or ():
        if remote in (str(port["port"]), port.get("name")):
            if service["spec"].get("clusterIP") == "None":
                return str(port["port"])
            return str(port.get("targetPort") or port["port"])
    if remote.isdigit():
        raise Said(f"error: Service {name} does not have a service port {remote}")
    raise Said(f"error: Service '{name}' does not have a named port '{remote}'")


def _of_pod(pod: Obj, remote: str) -> int:
    if remote.isdigit():
        return _port_number(remote)
    spec = pod["spec"]
    for container in [*spec["containers"], *(spec.get("initContainers") or ())]:
        for port in container.get("ports") or ():
            if port.get("name") == remote:
                return int(port["containerPort"])
    raise Said(f"error: Pod '{pod['metadata']['name']}' does not have a named port '{remote}'")


def _port_number(text: str) -> int:
    if not text.isdigit() or not 0 < int(text) < 65536:
        raise Said(f"error: '{text}' is not a port: a whole number from 1 to 65535", 2)
    return int(text)
