"""Watches on the wire: one JSON document a line, many lines a write, slow readers dropped."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from functools import partial as partial_function
from typing import TYPE_CHECKING, Final
from weakref import WeakKeyDictionary

from aiohttp import web

from longshore.api import codec
from longshore.api.types import Obj, encode
from longshore.apiserver import tables
from longshore.apiserver.answer import served
from longshore.apiserver.documents import metadata_only
from longshore.apiserver.http import render, respond
from longshore.apiserver.http.fanout import Fanout, Render, chunk
from longshore.apiserver.request.call import Call
from longshore.apiserver.rest.watch import Change, Changes, Notice

if TYPE_CHECKING:
    from longshore.apiserver.api import Api
    from longshore.apiserver.request.negotiate import Output

_SHARED_LINES: Final = 4096  # rendered lines kept for other watchers of the same change


async def stream(
    request: web.BaseRequest,
    api: Api,
    call: Call,
    output: Output,
    changes: AsyncIterator[Changes],
    closing: asyncio.Event,
    stuck_seconds: float,
    fanout: Fanout,
) -> web.StreamResponse:
    """Sends changes until the watch ends, the client goes or gets stuck, or the server stops.

    What comes shortly after something was sent is sent in one bundle, together with those of other watchers.
    """
    to_bytes = _renderer(api, call, output)
    response: web.StreamResponse
    if request.headers.get("Upgrade", "").lower() == "websocket":
        response = web.WebSocketResponse(heartbeat=stuck_seconds)
        await response.prepare(request)
        sending = _send_frames(response, changes, to_bytes, stuck_seconds, fanout)
    else:
        response = web.StreamResponse(
            headers={"Content-Type": output.media_type, "Cache-Control": "no-cache, private"}
        )
        respond.add_warnings(response, call.warnings)
        response.enable_chunked_encoding()
        await response.prepare(request)
        await response.write(b"")
        to_chunk = partial_function(chunk, render=to_bytes)
        if _is_plain(output):
            to_chunk = partial_function(fanout.chunk, call.resource.group_version, render=to_bytes)
        sending = _send_lines(request, changes, to_chunk, stuck_seconds, fanout)
    sender = asyncio.ensure_future(sending)
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


async def _send_lines(
    request: web.BaseRequest,
    changes: AsyncIterator[Changes],
    to_chunk: Callable[[Changes], bytes],
    stuck_seconds: float,
    fanout: Fanout,
) -> None:
    """Writes to the connection itself: nothing is left to do for aiohttp, and this happens very often."""
    protocol = request.protocol
    async for batch in changes:
        data = to_chunk(batch)
        transport = request.transport
        if transport is None or transport.is_closing():
            raise ConnectionResetError("the client is gone")
        if data:
            transport.write(data)
            if protocol.writing_paused:
                async with asyncio.timeout(stuck_seconds):
                    await request.writer.drain()
        await fanout.pause()


async def _send_frames(
    socket: web.WebSocketResponse,
    changes: AsyncIterator[Changes],
    to_bytes: Render,
    stuck_seconds: float,
    fanout: Fanout,
) -> None:
    """Over a WebSocket every change is a text frame of its own."""
    async for batch in changes:
        async with asyncio.timeout(stuck_seconds):
            for change in batch:
                await socket.send_str(to_bytes(change).decode().rstrip("\n"))
        await fanout.pause()


def _is_plain(output: Output) -> bool:
    """Whether objects go out as they are stored, so that a line is the same for all."""
    return output.media_type == "application/json" and not output.transform


def _renderer(api: Api, call: Call, output: Output) -> Render:
    if output.media_type.startswith("application/vnd.kubernetes.protobuf"):
        return lambda change: codec.encode_watch_event(change.type, _document(api, call, output, change))
    if output.transform == "Table":
        return _table_renderer(api, call, output)
    if output.transform == metadata_only.LIST:
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
        if isinstance(change, Notice):
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


def _untyped(api: Api, call: Call, notice: Notice) -> Obj:
    """A bookmark or an error as a document."""
    if notice.status is not None:
        return notice.status
    return render.with_type(call.resource, {**api.empty(call.resource), "metadata": notice.metadata})


def _document(api: Api, call: Call, output: Output, change: Change) -> Obj:
    if isinstance(change, Notice):
        if change.status is None and output.transform:
            return metadata_only.item({"metadata": change.metadata}, output.group_version)
        return _untyped(api, call, change)
    obj = served(call.resource, change.entry.obj)
    if output.transform:
        return metadata_only.item(obj, output.group_version)
    return render.with_type(call.resource, obj)


def _table_renderer(api: Api, call: Call, output: Output) -> Render:
    include = tables.include_of(call.one("includeObject"))
    first = True

    def to_bytes(change: Change) -> bytes:
        nonlocal first
        if isinstance(change, Notice):
            if change.status is not None:
                return _line(change.type, encode(change.status))
            obj = {**api.empty(call.resource), "metadata": change.metadata}
        else:
            obj = served(call.resource, change.entry.obj)
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
