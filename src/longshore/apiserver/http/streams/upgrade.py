"""Turns a request into a two-way connection: chooses the protocol, does the handshake, limits idle time.

An unsupported protocol is refused before the upgrade, with a plain HTTP answer, so that kubectl can try the
other protocol.
"""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Mapping, Sequence
from typing import Any, Final, TypeVar

from longshore.api import errors
from longshore.apiserver.http import websocket
from longshore.apiserver.http.client_connection import Connection
from longshore.apiserver.http.open_streams import cancelled
from longshore.apiserver.http.request import Request
from longshore.apiserver.http.streams import channels, port_forward
from longshore.apiserver.http.streams.duplex import Activity, RawDuplex, WebSocketDuplex
from longshore.apiserver.http.streams.remote_command import join
from longshore.apiserver.http.streams.spdy.spdy_command import VERSIONS, SpdyTerminal
from longshore.apiserver.subresources.link import Link

_STREAMS_SECONDS: Final = 30.0
"""Seconds for a SPDY client to open its streams."""

_Value = TypeVar("_Value")


async def serve(connection: Connection, request: Request, link: Link, closing: asyncio.Event) -> None:
    """Upgrades the connection and works on it until one side ends it, or the server stops."""
    if request.upgrade == "websocket":
        await _websocket(connection, request, link, closing)
    elif request.upgrade == "spdy/3.1":
        await _spdy(connection, request, link, closing)
    else:
        raise errors.bad_request("Upgrade request required")


async def _websocket(connection: Connection, request: Request, link: Link, closing: asyncio.Event) -> None:
    activity = Activity()
    offered = request.headers.listed("sec-websocket-protocol")
    if link.kind == "portforward" and port_forward.TUNNEL_PROTOCOL in offered:
        socket = websocket.accept(connection, request, port_forward.TUNNEL_PROTOCOL)
        duplex = WebSocketDuplex(socket, activity)
        await _until(port_forward.SpdyPorts(link, duplex).run(), closing, activity)
        await socket.close()
        return
    name, protocol = _choose(channels.PORTS if link.kind == "portforward" else channels.EXEC, offered)
    if link.kind == "portforward" and not link.ports:
        raise errors.bad_request('query parameter "ports" is required')
    socket = websocket.accept(connection, request, name)
    talk = channels.Channels(socket, protocol, activity)
    if link.kind == "portforward":
        await _until(port_forward.serve_channels(link, talk), closing, activity)
    else:
        terminal = channels.WebSocketTerminal(talk, link.streams)
        await terminal.greet()
        await _until(join(link, terminal), closing, activity)
    await socket.close()


async def _spdy(connection: Connection, request: Request, link: Link, closing: asyncio.Event) -> None:
    activity = Activity()
    offered = request.headers.listed("x-stream-protocol-version")

    def switched(protocol: str) -> RawDuplex:
        fields = (
            ("Upgrade", "SPDY/3.1"),
            ("Connection", "Upgrade"),
            ("X-Stream-Protocol-Version", protocol),
        )
        return RawDuplex(connection, connection.switch(fields), activity)

    if link.kind == "portforward":
        known = {port_forward.SPDY_PROTOCOL: 1}
        name = _choose(known, offered or (port_forward.SPDY_PROTOCOL,))[0]
        await _until(port_forward.SpdyPorts(link, switched(name)).run(), closing, activity)
        return
    name, version = _choose(VERSIONS, offered or ("channel.k8s.io",))
    terminal = SpdyTerminal(switched(name), version, link.streams)
    try:
        if await terminal.ready(_STREAMS_SECONDS):
            await _until(join(link, terminal), closing, activity)
    finally:
        await terminal.close()


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
    """Works until done, until the server stops, or until the connection has been quiet for too long."""
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
        await cancelled([working, stopping])
