"""Port-forward: a client's connections carried to ports of a pod, by SPDY or the older WebSocket channels."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable
from typing import Final

from longshore.api import errors
from longshore.api.types import Obj
from longshore.apiserver.http.open_streams import cancelled
from longshore.apiserver.http.streams.channels import Channels
from longshore.apiserver.http.streams.duplex import Duplex
from longshore.apiserver.http.streams.spdy.spdy_connection import SpdyConnection, Stream
from longshore.apiserver.subresources.link import Link

SPDY_PROTOCOL: Final = "portforward.k8s.io"
TUNNEL_PROTOCOL: Final = "SPDY/3.1+portforward.k8s.io"
"""SPDY inside a WebSocket."""
_READ_BYTES: Final = 1 << 16

Read = Callable[[], Awaitable[bytes]]
Write = Callable[[bytes], Awaitable[None]]


def _text(pod: Obj, port: int, problem: object) -> bytes:
    meta = pod["metadata"]
    return f"error forwarding port {port} to pod {meta['name']}, uid {meta['uid']}: {problem}".encode()


async def _carry(
    link: Link, port: int, read: Read, write: Write, finish: Callable[[], Awaitable[None]] | None = None
) -> bytes:
    """Joins one connection with a port; returns the problem, if there was one.

    When the pod has closed its side, `finish` closes that direction for the client, which may still write.
    Without `finish` the connection then ends.
    """
    try:
        reader, writer = await link.door.port_forward(link.pod, port)
    except (OSError, errors.StatusError) as problem:
        return _text(link.pod, port, problem)
    to_pod = asyncio.ensure_future(_to_pod(read, writer))
    try:
        while data := await reader.read(_READ_BYTES):
            await write(data)
        if finish is not None:
            await finish()
            await to_pod
    except OSError as problem:
        return _text(link.pod, port, problem)
    finally:
        await cancelled([to_pod])
        writer.close()
        with contextlib.suppress(OSError):
            await writer.wait_closed()
    return b""


async def _to_pod(read: Read, writer: asyncio.StreamWriter) -> None:
    try:
        while data := await read():
            writer.write(data)
            await writer.drain()
        if writer.can_write_eof():
            writer.write_eof()
    except OSError:
        pass  # the pod reads no more; what it still writes is carried on


class SpdyPorts:
    """Each connection is a pair of streams, `error` and `data`, with the same request id."""

    def __init__(self, link: Link, duplex: Duplex) -> None:
        self._link = link
        self._spdy = SpdyConnection(duplex, self._opened)
        self._halves: dict[str, dict[str, Stream]] = {}
        self._tasks: set[asyncio.Task[None]] = set()

    async def run(self) -> None:
        """Forwards connections until the client has gone."""
        try:
            await self._spdy.run()
        finally:
            await cancelled(self._tasks)
            await self._spdy.close()

    def _opened(self, stream: Stream) -> None:
        kind, port = stream.headers.get("streamtype", ""), stream.headers.get("port", "")
        if kind not in ("error", "data"):
            return
        # A client that sends no ids opens the error stream first and the data stream next.
        number = stream.number if kind == "error" else stream.number - 2
        request = stream.headers.get("requestid") or str(number)
        pair = self._halves.setdefault(request, {})
        pair[kind] = stream
        if len(pair) == 2:
            del self._halves[request]
            pair["error"].ignore()
            task = asyncio.create_task(self._forward(pair["data"], pair["error"], port))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

    async def _forward(self, data: Stream, error: Stream, text: str) -> None:
        try:
            if text.isascii() and text.isdigit() and 0 < int(text[:6]) < 65536:
                port = int(text)
                problem = await _carry(self._link, port, data.read, data.write, data.finish)
            else:
                problem = f'unable to parse "{text}" as a port'.encode()
            await error.write(problem)
            await data.finish()
            await error.finish()
        except ConnectionError:
            pass  # the client has gone, and all its streams with it


async def serve_channels(link: Link, channels: Channels) -> None:
    """Forwards the ports named in the query: for the i-th, channel 2i carries data and 2i+1 errors. Each
    channel begins with the number of the port."""
    queues: list[asyncio.Queue[bytes]] = [asyncio.Queue(64) for _ in link.ports]
    for at, port in enumerate(link.ports):
        for channel in (2 * at, 2 * at + 1):
            await channels.send(channel, port.to_bytes(2, "little"))

    async def one(at: int, port: int) -> None:
        async def write(data: bytes) -> None:
            await channels.send(2 * at, data)

        problem = await _carry(link, port, queues[at].get, write)
        if problem:
            await channels.send(2 * at + 1, problem)

    async def listen() -> None:
        async for channel, data in channels.messages():
            if channel % 2 == 0 and channel // 2 < len(queues) and data:
                await queues[channel // 2].put(data)

    carrying = asyncio.gather(*(one(at, port) for at, port in enumerate(link.ports)))
    listening = asyncio.ensure_future(listen())
    try:
        await asyncio.wait((carrying, listening), return_when=asyncio.FIRST_COMPLETED)
        if carrying.done():
            carrying.result()
            await channels.close()
    except ConnectionError:
        pass  # the client has gone
    finally:
        await cancelled([carrying, listening])
