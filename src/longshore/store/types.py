"""The types that the store hands out: keys, entries, events and snapshots. All are immutable and shared.

An entry is kept as its JSON bytes, because lists and watches send these; the decoded view is created on
demand and forgotten again (`decoded_views.py`), so a hundred thousand objects take little more memory than
their bytes. Nothing here reads or writes anything.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from typing import Literal

import msgspec
from msgspec.structs import force_setattr

from longshore.api.types import Obj, decode
from longshore.store.decoded_views import Decoded

EventType = Literal["ADDED", "MODIFIED", "DELETED"]


class Key(msgspec.Struct, frozen=True, order=True, gc=False):
    """The place of an object. `storage` is the key space of its resource, e.g. `pods` or `batch/jobs`."""

    storage: str
    namespace: str
    """Empty for cluster scope."""
    name: str

    @property
    def place(self) -> tuple[str, str]:
        """The sort key of lists: (namespace, name)."""
        return self.namespace, self.name

    def __str__(self) -> str:
        return f"{self.storage}/{self.namespace}/{self.name}"


class Entry(msgspec.Struct, frozen=True, eq=False):
    """One object at one revision."""

    key: Key
    revision: int
    raw: bytes
    """JSON without apiVersion and kind; its metadata.resourceVersion is `str(revision)`."""
    _decoded: Decoded
    _obj: Obj | None = None

    @property
    def obj(self) -> Obj:
        """The object as dicts and lists. Frozen by agreement: copy before changing anything."""
        obj = self._obj
        if obj is None:
            obj = decode(self.raw)
            force_setattr(self, "_obj", obj)
            self._decoded.keep(self)
        return obj

    @property
    def is_decoded(self) -> bool:
        """Whether `obj` costs nothing now."""
        return self._obj is not None

    def __repr__(self) -> str:
        return f"Entry({self.key}@{self.revision})"  # never the content: it may be a Secret


class Event(msgspec.Struct, frozen=True, eq=False, gc=False):
    """One change. `previous` is the state it replaced; None for ADDED. An event is part of no reference
    cycle, so the garbage collector need not track the many events in the window."""

    revision: int
    type: EventType
    entry: Entry
    """The new state; for DELETED the last state, with the deletion's revision as resourceVersion."""
    previous: Entry | None

    @property
    def key(self) -> Key:
        return self.entry.key


class Snapshot(msgspec.Struct, frozen=True, eq=False):
    """The objects of one storage (or one namespace of it) at one revision, by (namespace, name)."""

    revision: int
    entries: Sequence[Entry]

    def __iter__(self) -> Iterator[Entry]:
        return iter(self.entries)

    def __len__(self) -> int:
        return len(self.entries)

    def after(self, namespace: str, name: str) -> int:
        """The index of the first entry after this place, for the next page. The place may be empty."""
        return bisect_right(self.entries, (namespace, name), key=place)


class Page(msgspec.Struct, frozen=True, eq=False):
    """A part of a snapshot, from some place on."""

    revision: int
    entries: list[Entry]
    more: int
    """How many objects of the snapshot come after this page."""


def place(entry: Entry) -> tuple[str, str]:
    """The sort key of lists: (namespace, name)."""
    return entry.key.place
