"""Renders a change as a watcher wants it: a line of JSON, a row of a table, only the metadata, protobuf."""

from __future__ import annotations

from typing import TYPE_CHECKING

from longshore.api import codec
from longshore.api.types import Obj, encode
from longshore.apiserver import tables
from longshore.apiserver.answer import served
from longshore.apiserver.documents import metadata_only
from longshore.apiserver.http import render
from longshore.apiserver.http.fanout import Render
from longshore.apiserver.request.call import Call
from longshore.apiserver.request.negotiate import PROTOBUF
from longshore.apiserver.rest.watch import Change, Notice

if TYPE_CHECKING:
    from longshore.apiserver.api import Api
    from longshore.apiserver.request.negotiate import Output


def shared_as(call: Call, output: Output) -> str:
    """A name for the form of the changes if all watchers with this form get the same bytes; else empty."""
    if output.transform:
        return ""
    if _is_protobuf(output):
        return f"protobuf {call.resource.group_version}"
    return call.resource.group_version if output.media_type == "application/json" else ""


def _is_protobuf(output: Output) -> bool:
    return output.media_type.startswith(PROTOBUF)


def renderer(api: Api, call: Call, output: Output) -> Render:
    """The function that renders a change as bytes."""
    if _is_protobuf(output):
        return _protobuf_renderer(api, call, output)
    if output.transform == "Table":
        return _table_renderer(api, call, output)
    if output.transform == metadata_only.LIST:
        return lambda _: b""  # a stream of lists makes no sense; upstream, too, accepts it and sends nothing
    if output.transform:
        return lambda change: _line(change.type, encode(_document(api, call, output, change)))
    return _plain_renderer(api, call)


def _line(type_: str, obj: bytes) -> bytes:
    return b'{"type":"' + type_.encode() + b'","object":' + obj + b"}\n"


def _plain_renderer(api: Api, call: Call) -> Render:
    def to_bytes(change: Change) -> bytes:
        if isinstance(change, Notice):
            return _line(change.type, encode(_untyped(api, call, change)))
        return _line(change.type, render.entry_json(call.resource, change.entry))

    return to_bytes


def _protobuf_renderer(api: Api, call: Call, output: Output) -> Render:
    resource, written = call.resource, render.protobuf_of(api)

    def to_bytes(change: Change) -> bytes:
        if output.transform or isinstance(change, Notice):
            return codec.encode_watch_event(change.type, _document(api, call, output, change))
        return codec.watch_frame(change.type, written.entry(resource, change.entry))

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
