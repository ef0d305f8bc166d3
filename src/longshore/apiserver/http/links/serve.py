"""From a request to a joined connection: which protocol, the handshake, limits of time and number.

What cannot be had is refused before the upgrade, as a plain HTTP answer: that is how kubectl knows that it
may try the other protocol.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Coroutine, Mapping, Sequence
from typing import Any, Final, TypeVar

from aiohttp import web

from longshore.api import errors
from longshore.apiserver.http.links import channels, ports
from longshore.apiserver.http.links.spdy.terminal import VERSIONS, SpdyTerminal
from longshore.apiserver.http.links.terminal import join
from longshore.apiserver.http.links.wire import Activity, RawWire, SocketWire, TakenOver
from longshore.apiserver.subresources.link import Link

_LARGEST_MESSAGE: Final = 1 << 25
_STREAMS_SECONDS: Final = 30.0
"""For a SPDY client to open its streams."""

_Value = TypeVar("_Value")


async def serve(request: web.BaseRequest, link: Link, closing: asyncio.Event) -> web.StreamResponse:
    """Upgrades the connection and works on it until one side ends it, or the server stops."""
    upgrade = request.headers.get("Upgrade", "").strip().lower()
    if upgrade == "websocket":
        return await _websocket(request, link, closing)
    if upgrade == "spdy/3.1":
        return await _spdy(request, link, closing)
    raise errors.bad_request("Upgrade request required")


async def _websocket(request: web.BaseRequest, link: Link, closing: asyncio.Event) -> web.StreamResponse:
    activity = Activity()
    offered = _listed(request, "Sec-WebSocket-Protocol")
    if link.kind == "portforward" and ports.TUNNEL_PROTOCOL in offered:
        socket = await _open(request, ports.TUNNEL_PROTOCOL)
        await _until(ports.SpdyPorts(link, SocketWire(socket, activity)).run(), closing, activity)
        await _close(socket)
        return socket
    name, protocol = _choose(channels.PORTS if link.kind == "portforward" else channels.EXEC, offered)
    if link.kind == "portforward" and not link.ports:
        raise errors.bad_request('query parameter "ports" is required')
    socket = await _open(request, name)
    talk = channels.Channels(socket, protocol, activity)
    if link.kind == "portforward":
        await _until(ports.serve_channels(link, talk), closing, activity)
    else:
        terminal = channels.SocketTerminal(talk, link.streams)
        await terminal.greet()
        await _until(join(link, terminal), closing, activity)
    await _close(socket)
    return socket


async def _open(request: web.BaseRequest, protocol: str) -> web.WebSocketResponse:
    socket = web.WebSocketResponse(
        protocols=(protocol,) if protocol else (), compress=False, max_msg_size=_LARGEST_MESSAGE
    )
    try:
        await socket.prepare(request)
    except web.HTTPBadRequest as refused:
        raise errors.bad_request(refused.text or "not a WebSocket handshake") from None
    return socket


async def _close(socket: web.WebSocketResponse) -> None:
    with contextlib.suppress(ConnectionError):
        await socket.close()


async def _spdy(request: web.BaseRequest, link: Link, closing: asyncio.Event) -> web.StreamResponse:
    activity = Activity()
    offered = _listed(request, "X-Stream-Protocol-Version")
    if link.kind == "portforward":
        name = _choose({ports.SPDY_PROTOCOL: 1}, offered or (ports.SPDY_PROTOCOL,))[0]
        wire = RawWire(request, _switch(name), activity)
        await _until(ports.SpdyPorts(link, wire).run(), closing, activity)
        return TakenOver()
    name, version = _choose(VERSIONS, offered or ("channel.k8s.io",))
    terminal = SpdyTerminal(RawWire(request, _switch(name), activity), version, link.streams)
    try:
        if await terminal.ready(_STREAMS_SECONDS):
            await _until(join(link, terminal), closing, activity)
    finally:
        await terminal.close()
    return TakenOver()


def _switch(protocol: str) -> dict[str, str]:
    return {"Upgrade": "SPDY/3.1", "Connection": "Upgrade", "X-Stream-Protocol-Version": protocol}


def _listed(request: web.BaseRequest, header: str) -> tuple[str, ...]:
    """The names in a header that may be given once with commas, or several times."""
    values = request.headers.getall(header, [])
    return tuple(name.strip() for value in values for name in value.split(",") if name.strip())


def _choose(known: Mapping[str, _Value], offered: Sequence[str]) -> tuple[str, _Value]:
    """The best protocol that both sides know."""
    for name, value in known.items():
        if name in offered or (not name and not offered):
            return name, value
    raise errors.StatusError(
        403,
        "Forbidden",
        f"unable to negotiate protocol: client supports [{' '.join(offered)}], "
        f"server accepts [{' '.join(name for name in known if name)}]",
    )


async def _until(work: Coroutine[Any, Any, None], closing: asyncio.Event, activity: Activity) -> None:
    """Works until done, until the server stops, or until nothing has been said for too long."""
    working = asyncio.ensure_future(work)
    stopping = asyncio.ensure_future(closing.wait())
    try:
        while not working.done() and not stopping.done() and (left := activity.left()) > 0:
            await asyncio.wait((working, stopping), timeout=left, return_when=asyncio.FIRST_COMPLETED)
        if working.done():
            working.result()
    except ConnectionError:
        pass  # the client has gone
    finally:
        working.cancel()
        stopping.cancel()
        await asyncio.gather(working, stopping, return_exceptions=True)
