"""Watches on the wire: one JSON document a line, many lines a write, slow readers dropped."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from functools import partial as partial_function
from typing import TYPE_CHECKING, Final
from weakref import WeakKeyDictionary

from aiohttp import web

from longshore.api import codec
from longshore.api.types import Obj, encode
from longshore.apiserver import partial, tables
from longshore.apiserver.answer import served
from longshore.apiserver.call import Call
from longshore.apiserver.http import render, respond
from longshore.apiserver.rest.watch import Change

if TYPE_CHECKING:
    from longshore.apiserver.api import Api
    from longshore.apiserver.negotiate import Output

_PAUSE_PER_WATCHER: Final = 0.0001
_SHORTEST_PAUSE: Final = 0.001  # below that a timer costs more than it saves
_LONGEST_PAUSE: Final = 0.01
_SHARED_LINES: Final = 4096  # rendered lines kept for other watchers of the same change

Render = Callable[[Change], bytes]


async def stream(
    request: web.BaseRequest,
    api: Api,
    call: Call,
    output: Output,
    changes: AsyncIterator[list[Change]],
    closing: asyncio.Event,
    stuck_seconds: float,
    watchers: Callable[[], int],
) -> web.StreamResponse:
    """Sends changes until the watch ends, the client goes or gets stuck, or the server stops.

    `watchers` tells how many watches there are. What comes shortly after something was sent is sent in
    one bundle, and the more watchers the longer it waits: they cost by the write, not by the change.
    """
    to_bytes = _renderer(api, call, output)
    send: Callable[[list[Change]], Awaitable[None]]
    if request.headers.get("Upgrade", "").lower() == "websocket":
        socket = web.WebSocketResponse(heartbeat=stuck_seconds)
        await socket.prepare(request)
        response: web.StreamResponse = socket
        send = partial_function(_send_frames, socket, to_bytes)
    else:
        response = web.StreamResponse(
            headers={"Content-Type": output.media_type, "Cache-Control": "no-cache, private"}
        )
        respond.add_warnings(response, call.warnings)
        response.enable_chunked_encoding()
        await response.prepare(request)
        await response.write(b"")
        send = partial_function(_send_lines, response, to_bytes)
    sender = asyncio.ensure_future(_send(changes, send, stuck_seconds, watchers))
    tasks = {asyncio.ensure_future(closing.wait()), sender}
    if isinstance(response, web.WebSocketResponse):
        tasks.add(asyncio.ensure_future(_until_closed(response)))
    try:
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        if sender.done():
            sender.result()
    except (ConnectionError, TimeoutError):
        if request.transport is not None:
            request.transport.abort()
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
    return response


async def _until_closed(socket: web.WebSocketResponse) -> None:
    """Reads what the client says (answers to pings, the end) until it has gone."""
    async for _ in socket:
        pass


async def _send(
    changes: AsyncIterator[list[Change]],
    send: Callable[[list[Change]], Awaitable[None]],
    stuck_seconds: float,
    watchers: Callable[[], int],
) -> None:
    async for batch in changes:
        async with asyncio.timeout(stuck_seconds):
            await send(batch)
        pause = min(watchers() * _PAUSE_PER_WATCHER, _LONGEST_PAUSE)
        if pause >= _SHORTEST_PAUSE:
            await asyncio.sleep(pause)


async def _send_lines(response: web.StreamResponse, to_bytes: Render, batch: list[Change]) -> None:
    await response.write(to_bytes(batch[0]) if len(batch) == 1 else b"".join(map(to_bytes, batch)))


async def _send_frames(socket: web.WebSocketResponse, to_bytes: Render, batch: list[Change]) -> None:
    """Over a WebSocket every change is a text frame of its own."""
    for change in batch:
        await socket.send_str(to_bytes(change).decode().rstrip("\n"))


def _renderer(api: Api, call: Call, output: Output) -> Render:
    if output.media_type.startswith("application/vnd.kubernetes.protobuf"):
        return lambda change: codec.encode_watch_event(change.type, _document(api, call, output, change))
    if output.transform == "Table":
        return _table_renderer(api, call, output)
    if output.transform == partial.LIST:
        return lambda _: b""  # a stream of lists makes no sense; upstream, too, accepts it and sends nothing
    if output.transform:
        return lambda change: _line(change.type, encode(_document(api, call, output, change)))
    return _plain_renderer(api, call)


def _line(type_: str, obj: bytes) -> bytes:
    return b'{"type":"' + type_.encode() + b'","object":' + obj + b"}\n"


_lines: WeakKeyDictionary[Api, dict[tuple[int, str, str], bytes]] = WeakKeyDictionary()
"""Lines of recent changes by (revision, type, apiVersion): a hundred watchers render each once.
Each server has its own: two in one process count their revisions apart."""


def _plain_renderer(api: Api, call: Call) -> Render:
    resource = call.resource
    version = resource.group_version
    lines = _lines.setdefault(api, {})

    def to_bytes(change: Change) -> bytes:
        if change.entry is None:
            return _line(change.type, encode(_untyped(api, call, change)))
        key = (change.revision, change.type, version)
        line = lines.get(key)
        if line is None:
            line = _line(change.type, render.entry_json(resource, change.entry))
            if len(lines) >= _SHARED_LINES:
                lines.clear()
            lines[key] = line
        return line

    return to_bytes


def _untyped(api: Api, call: Call, change: Change) -> Obj:
    """A bookmark or an error as a document."""
    if change.status is not None:
        return change.status
    return render.with_type(call.resource, {**api.empty(call.resource), "metadata": change.metadata})


def _document(api: Api, call: Call, output: Output, change: Change) -> Obj:
    if change.status is not None:
        return change.status
    obj = served(call.resource, change.entry.obj) if change.entry else {"metadata": change.metadata}
    if output.transform:
        return partial.item(obj, output.group_version)
    if change.entry is None:
        return _untyped(api, call, change)
    return render.with_type(call.resource, obj)


def _table_renderer(api: Api, call: Call, output: Output) -> Render:
    include = tables.include_of(call.one("includeObject"))
    first = True

    def to_bytes(change: Change) -> bytes:
        nonlocal first
        if change.status is not None:
            return _line(change.type, encode(change.status))
        obj = (
            served(call.resource, change.entry.obj)
            if change.entry
            else {**api.empty(call.resource), "metadata": change.metadata}
        )
        meta = {"resourceVersion": obj["metadata"].get("resourceVersion", "")}
        table = tables.table(
            call.resource,
            [obj],
            meta,
            include,
            api.instant(),
            with_columns=first,
            group_version=output.group_version,
        )
        first = False
        return _line(change.type, encode(table))

    return to_bytes
