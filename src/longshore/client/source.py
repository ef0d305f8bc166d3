"""Reading: a watch hands everything it sees to a taker, as one of five values.

`Begin` comes before a list, `Listed` has some of its objects, `ListEnded` has the version of the whole list;
`Changed` has changes in order, `Bookmark` says that nothing else has happened up to a version. Errors are
raised, with their code. A list that breaks off has no `ListEnded`.

Objects are handed over as entries, which unpack their object on demand.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from typing import Final, Protocol, TypeAlias

import msgspec

from longshore.api.types import Obj
from longshore.client.projection import Projection
from longshore.client.protocol import Packed, WatchEvent

_LISTED_TOGETHER: Final = 512
"""Objects per `Listed` when they arrive as events."""

Place: TypeAlias = tuple[str, str]
"""Namespace (empty for cluster-scoped resources) and name."""


class Entry(Packed, Protocol):
    """One object in one state."""

    @property
    def place(self) -> Place: ...

    def read(self, reads: Projection) -> Obj:
        """The fields of the object that are read, or more."""

    def packed(self, has_settled: bool) -> Packed | None:
        """The form in which a cache holds the object; None to hold it as it is. For `has_settled` see
        `api/facts/settled_objects.py`."""


class Unpacked(msgspec.Struct, frozen=True, eq=False):
    """An entry that holds its object unpacked."""

    obj: Obj

    @property
    def place(self) -> Place:
        meta = self.obj["metadata"]
        return meta.get("namespace") or "", meta["name"]

    def read(self, reads: Projection) -> Obj:
        return reads.of(self.obj)

    @property
    def facts(self) -> Obj:
        return self.obj

    def packed(self, has_settled: bool) -> Packed | None:
        return None


class Begin(msgspec.Struct, frozen=True):
    """A list is about to begin."""


class Listed(msgspec.Struct, frozen=True):
    """Some of the objects that exist."""

    entries: Sequence[Entry]


class ListEnded(msgspec.Struct, frozen=True):
    """Everything was listed. A watch from `version` misses nothing."""

    version: str


Change: TypeAlias = tuple[str, Entry]
"""ADDED, MODIFIED or DELETED, and the object after the change (for DELETED, its last state)."""


class Changed(msgspec.Struct, frozen=True):
    """Changes in order. `version` is that of the last one."""

    changes: Sequence[Change]
    version: str


class Bookmark(msgspec.Struct, frozen=True):
    """Nothing else has happened up to `version`."""

    version: str


Seen: TypeAlias = Begin | Listed | ListEnded | Changed | Bookmark
Taker: TypeAlias = Callable[[Seen], None]
"""Takes what a watch sees. Must not raise."""


class Watching(AsyncIterator[WatchEvent]):
    """One watch: iterate over its events, or hand them to a taker."""

    def __init__(
        self, events: AsyncIterator[WatchEvent], entry_of: Callable[[Obj], Entry] = Unpacked
    ) -> None:
        self._events, self._entry_of = events, entry_of

    def __anext__(self) -> Awaitable[WatchEvent]:
        return self._events.__anext__()

    async def list_to(self, taker: Taker) -> bool:
        """Hands the initial events over. Returns False if the watch ended before they did."""
        import asyncio  # here: `longshore get` imports this file, and needs no event loop

        taker(Begin())
        some: dict[Place, Entry] = {}
        async for event in self:
            if event.type == "BOOKMARK":
                if event.ends_initial_events:
                    taker(Listed([*some.values()]))
                    taker(ListEnded(event.resource_version))
                    return True
                continue
            entry = self._entry_of(event.object)
            if event.type == "DELETED":
                if some.pop(entry.place, None) is None:
                    taker(Changed([("DELETED", entry)], event.resource_version))
                continue
            some[entry.place] = entry
            if len(some) == _LISTED_TOGETHER:
                taker(Listed([*some.values()]))
                some = {}
                await asyncio.sleep(0)  # the taker gets its turn
        return False

    async def hand_to(self, taker: Taker) -> None:
        """Hands changes and bookmarks over, until the watch ends."""
        async for event in self:
            if event.type == "BOOKMARK":
                taker(Bookmark(event.resource_version))
            else:
                taker(Changed([(event.type, self._entry_of(event.object))], event.resource_version))
