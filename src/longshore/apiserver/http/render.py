"""Answers as bytes: JSON from the stored bytes where possible, YAML, protobuf, Table and partial forms."""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from typing import TYPE_CHECKING, Final
from weakref import WeakKeyDictionary

from longshore.api import codec
from longshore.api.resources import Resource
from longshore.api.types import Obj, decode, encode
from longshore.apiserver.answer import served, served_raw

if TYPE_CHECKING:
    from longshore.apiserver.answer import ListAnswer
    from longshore.apiserver.api import Api
    from longshore.store import Entry


@lru_cache(maxsize=1024)
def _prefix(kind: str, group_version: str) -> bytes:
    return b'{"kind":' + encode(kind) + b',"apiVersion":' + encode(group_version) + b","


def typed(kind: str, group_version: str, raw: bytes) -> bytes:
    """Puts kind and apiVersion in front of an object's JSON."""
    prefix = _prefix(kind, group_version)
    return prefix[:-1] + b"}" if raw == b"{}" else prefix + raw[1:]


def object_json(resource: Resource, raw: bytes) -> bytes:
    return typed(resource.kind, resource.group_version, raw)


def entry_json(resource: Resource, entry: Entry) -> bytes:
    return object_json(resource, served_raw(resource, entry))


def list_json(answer: ListAnswer) -> bytes:
    """A whole list as one line. Items carry no kind and apiVersion, except those of custom kinds."""
    resource = answer.resource
    items: Iterable[bytes]
    if resource.style == "custom":
        items = (entry_json(resource, e) for e in answer.entries)
    else:
        items = (served_raw(resource, e) for e in answer.entries)
    head = b'{"metadata":' + encode(answer.metadata()) + b',"items":['
    return typed(resource.list_kind, resource.group_version, head + b",".join(items) + b"]}\n")


def with_type(resource: Resource, obj: Obj) -> Obj:
    """The object as a document with kind and apiVersion first."""
    return {"kind": resource.kind, "apiVersion": resource.group_version, **obj}


_MAX_OBJECTS: Final = 512  # a transaction brings about as many
_MAX_OBJECT_BYTES: Final = 32768


class WrittenProtobuf:
    """Stored objects as protobuf, each encoded once: the answer to a write and its watchers share the bytes.
    Each server has its own cache, since servers in one process have separate revisions."""

    def __init__(self) -> None:
        self._objects: dict[tuple[int, str], tuple[bytes, bytes]] = {}
        """The JSON an object was stored as, and its protobuf, by revision and version of the API."""
        self._parts = codec.Kept()

    def entry(self, resource: Resource, entry: Entry) -> bytes:
        """A stored object in its envelope, with kind and apiVersion."""
        key = entry.revision, resource.group_version
        known = self._objects.get(key)
        if known is not None and known[0] is entry.raw:  # a filtered watch may show an older state instead
            return known[1]
        obj = served(resource, entry.obj)
        data = codec.encode_frozen(obj, resource.group_version, resource.kind, self._parts)
        if len(data) <= _MAX_OBJECT_BYTES:
            if len(self._objects) >= _MAX_OBJECTS:
                self._objects.clear()
            self._objects[key] = entry.raw, data
        return data


_written: WeakKeyDictionary[Api, WrittenProtobuf] = WeakKeyDictionary()


def protobuf_of(api: Api) -> WrittenProtobuf:
    """The cache of objects that this server has encoded as protobuf."""
    found = _written.get(api)
    if found is None:
        found = _written[api] = WrittenProtobuf()
    return found


def list_protobuf(answer: ListAnswer) -> bytes:
    """A whole list. Its objects are decoded one by one, and none stays decoded."""
    resource = answer.resource
    items = (decode(served_raw(resource, entry)) for entry in answer.entries)
    return codec.encode_list(answer.metadata(), items, resource.group_version, resource.list_kind)
