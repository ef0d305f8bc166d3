"""Stored objects as protobuf, each encoded once: the answer to a write and its watchers share the bytes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final
from weakref import WeakKeyDictionary

from longshore.api import codec
from longshore.api.resources import Resource
from longshore.api.types import decode
from longshore.apiserver.answer import served, served_raw

if TYPE_CHECKING:
    from longshore.apiserver.answer import ListAnswer
    from longshore.apiserver.api import Api
    from longshore.store import Entry

_MAX_OBJECTS: Final = 512  # a transaction brings about as many
_MAX_OBJECT_BYTES: Final = 32768


class Written:
    """Cache of objects that one server has encoded as protobuf. Two servers in one process have separate
    revisions, so each has its own cache."""

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


_written: WeakKeyDictionary[Api, Written] = WeakKeyDictionary()


def written(api: Api) -> Written:
    """The cache of objects that this server has encoded as protobuf."""
    found = _written.get(api)
    if found is None:
        found = _written[api] = Written()
    return found


def list_protobuf(answer: ListAnswer) -> bytes:
    """A whole list. Its objects are decoded one by one and forgotten again."""
    resource = answer.resource
    items = (decode(served_raw(resource, entry)) for entry in answer.entries)
    return codec.encode_list(answer.metadata(), items, resource.group_version, resource.list_kind)
