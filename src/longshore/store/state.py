"""The current objects by storage, namespace and name. Durable state only.

A write costs the same however many objects there are. Names are sorted when a list needs it: then names added
or removed since are merged in, and a page is found by its first name.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Iterator, Mapping, Sequence
from heapq import merge
from typing import Final

from longshore.store.types import Entry, Event, Key, Page, place

Place = tuple[str, str]
"""Namespace and name."""
_CHUNK_NAMES: Final = 512
_REBUILD_DIVISOR: Final = 16
"""If more than one name in 16 changed, sorting all names again is quicker."""


class OrderedNames:
    """A sorted set of names, in short lists: adding one costs the same among a thousand and a hundred
    thousand.

    One list of all names would be moved as a whole for each new name, and a tree is slow in Python. With
    lists of about 512 names, finding a place or reading a page from there touches two lists.
    """

    __slots__ = ("_chunks", "_lasts", "_size")

    def __init__(self) -> None:
        self._chunks: list[list[str]] = []
        """No chunk is empty."""
        self._lasts: list[str] = []
        """The last name of each chunk."""
        self._size = 0

    def change(self, added: set[str], gone: set[str]) -> None:
        """Adds the names `added`, which must be new, and removes the names `gone`, which must exist."""
        if (len(added) + len(gone)) * _REBUILD_DIVISOR > self._size:
            names = [name for chunk in self._chunks for name in chunk if name not in gone]
            names += sorted(added)
            names.sort()  # two sorted runs: one merge
            self._chunks = [names[at : at + _CHUNK_NAMES] for at in range(0, len(names), _CHUNK_NAMES)]
            self._lasts = [chunk[-1] for chunk in self._chunks]
        else:
            for name in gone:
                self._remove(name)
            for name in added:
                self._add(name)
        self._size += len(added) - len(gone)

    def from_(self, start: str) -> Iterator[list[str]]:
        """The names at and after `start`, which need not exist, in lists that callers must not change."""
        at = bisect_left(self._lasts, start)
        if at == len(self._chunks):
            return
        chunk = self._chunks[at]
        begin = bisect_left(chunk, start)
        yield chunk[begin:] if begin else chunk
        yield from self._chunks[at + 1 :]

    def count_from(self, start: str) -> int:
        """The number of names at and after `start`."""
        at = bisect_left(self._lasts, start)
        if at == len(self._chunks):
            return 0
        return sum(map(len, self._chunks[at:])) - bisect_left(self._chunks[at], start)

    def _add(self, name: str) -> None:
        lasts = self._lasts
        if not lasts:
            self._chunks.append([name])
            lasts.append(name)
            return
        at = min(bisect_left(lasts, name), len(lasts) - 1)
        chunk = self._chunks[at]
        insort(chunk, name)
        if len(chunk) > 2 * _CHUNK_NAMES:
            self._chunks[at : at + 1] = [chunk[:_CHUNK_NAMES], chunk[_CHUNK_NAMES:]]
            lasts[at : at + 1] = [chunk[_CHUNK_NAMES - 1], chunk[-1]]
        else:
            lasts[at] = chunk[-1]

    def _remove(self, name: str) -> None:
        at = bisect_left(self._lasts, name)
        chunk = self._chunks[at]
        del chunk[bisect_left(chunk, name)]
        if chunk:
            self._lasts[at] = chunk[-1]
        else:
            del self._chunks[at], self._lasts[at]


class Space:
    """The objects of one storage in one namespace."""

    __slots__ = ("_order", "added", "entries", "gone")

    def __init__(self) -> None:
        self.entries: dict[str, Entry] = {}
        self._order = OrderedNames()
        self.added: set[str] = set()
        """Names that are not in `_order` yet."""
        self.gone: set[str] = set()
        """Removed names that are still in `_order`."""

    def remove(self, name: str) -> None:
        del self.entries[name]
        if name in self.added:
            self.added.remove(name)
        else:
            self.gone.add(name)

    def order(self) -> OrderedNames:
        """The names of all objects."""
        if self.added or self.gone:
            self._order.change(self.added, self.gone)
            self.added, self.gone = set(), set()
        return self._order


class CurrentObjects:
    """Every object, readable by key and listable in order."""

    __slots__ = ("storages",)

    def __init__(self) -> None:
        self.storages: dict[str, dict[str, Space]] = {}
        """By storage and namespace; there is no space without objects."""

    def get(self, key: Key) -> Entry | None:
        space = self.storages.get(key.storage, NO_SPACES).get(key.namespace)
        return None if space is None else space.entries.get(key.name)

    def at(self, storage: str, namespace: str, name: str) -> Entry | None:
        """The object at this place, for a caller without a key."""
        space = self.storages.get(storage, NO_SPACES).get(namespace)
        return None if space is None else space.entries.get(name)

    def put(self, entry: Entry) -> None:
        key = entry.key
        spaces = self.storages.get(key.storage)
        if spaces is None:
            spaces = self.storages[key.storage] = {}
        space = spaces.get(key.namespace)
        if space is None:
            space = spaces[key.namespace] = Space()
        name, entries = key.name, space.entries
        if name not in entries:
            if name in space.gone:
                space.gone.remove(name)
            else:
                space.added.add(name)
        entries[name] = entry

    def remove(self, key: Key) -> None:
        """Removes an object, which must exist."""
        spaces = self.storages[key.storage]
        space = spaces[key.namespace]
        space.remove(key.name)
        if not space.entries:
            del spaces[key.namespace]

    def entries(self, storage: str, namespace: str | None) -> list[Entry]:
        """The objects by (namespace, name); None stands for all namespaces."""
        return [entry for some in self.entries_from(storage, namespace, None) for entry in some]

    def entries_from(self, storage: str, namespace: str | None, start: Place | None) -> Iterator[list[Entry]]:
        """The objects at and after a place, in lists that are valid until the next change."""
        for space, name in self._spaces_from(storage, namespace, start):
            entries = space.entries
            for names in space.order().from_(name):
                yield [entries[each] for each in names]

    def count_from(self, storage: str, namespace: str | None, start: Place | None) -> int:
        """How many objects are at and after a place."""
        return sum(
            space.order().count_from(name) if name else len(space.entries)
            for space, name in self._spaces_from(storage, namespace, start)
        )

    def _spaces_from(
        self, storage: str, namespace: str | None, start: Place | None
    ) -> list[tuple[Space, str]]:
        """The spaces that have objects at and after a place, each with the name to begin at."""
        spaces = self.storages.get(storage, NO_SPACES)
        first, name = start or ("", "")
        if namespace is None:
            chosen = sorted(each for each in spaces if each >= first)
        else:
            chosen = [namespace] if namespace in spaces and namespace >= first else []
        return [(spaces[each], name if each == first else "") for each in chosen]

    def first_page(self, storage: str, namespace: str | None, start: Place | None, limit: int) -> list[Entry]:
        """The first `limit` objects at and after `start`."""
        found: list[Entry] = []
        for some in self.entries_from(storage, namespace, start):
            found += some
            if len(found) >= limit:
                del found[limit:]
                break
        return found

    def past_page(
        self,
        storage: str,
        namespace: str | None,
        start: Place | None,
        limit: int,
        revision: int,
        changes: Sequence[Event],
    ) -> Page:
        """The page at `revision`. `changes` must be all changes of this storage or namespace since then."""
        before: dict[Place, Entry | None] = {}
        for change in changes:
            where = change.entry.key.place
            if start is None or where >= start:
                before.setdefault(where, change.previous)
        old = sorted((entry for entry in before.values() if entry is not None), key=place)
        changed_now = sum(self.get(Key(storage, *where)) is not None for where in before)
        count = self.count_from(storage, namespace, start) - changed_now + len(old)

        def unchanged() -> Iterator[Entry]:
            for some in self.entries_from(storage, namespace, start):
                for entry in some:
                    if entry.key.place not in before:
                        yield entry

        found: list[Entry] = []
        for entry in merge(unchanged(), old, key=place):
            if len(found) == limit:
                break
            found.append(entry)
        return Page(revision, found, count - len(found))

    def counts(self) -> dict[str, int]:
        """The number of objects in each storage."""
        return {
            storage: sum(len(space.entries) for space in spaces.values())
            for storage, spaces in self.storages.items()
        }


NO_SPACES: dict[str, Space] = {}


_NO_CHANGES: Final[Mapping[Key, Event]] = {}


class Overlay:
    """The newest staged change of each object.

    The overlay lies over the durable state: a writer asks here for the newest state of an object, and most
    objects have nothing staged. Every write asks several times, so the overlay reads the state's dicts itself
    instead of calling methods.
    """

    __slots__ = ("_by_storage", "_storages")

    def __init__(self, state: CurrentObjects) -> None:
        self._storages = state.storages
        self._by_storage: dict[str, dict[Key, Event]] = {}

    def latest(self, key: Key) -> Entry | None:
        """The newest state of one object, staged or durable."""
        changes = self._by_storage.get(key.storage)
        if changes and (event := changes.get(key)) is not None:
            return None if event.type == "DELETED" else event.entry
        space = self._storages.get(key.storage, NO_SPACES).get(key.namespace)
        return None if space is None else space.entries.get(key.name)

    def is_empty(self, storage: str) -> bool:
        """Whether a storage has no objects, staged or durable."""
        return not self._by_storage.get(storage) and not self._storages.get(storage)

    def of(self, storage: str) -> Mapping[Key, Event]:
        """All staged changes of one storage."""
        return self._by_storage.get(storage) or _NO_CHANGES

    def put(self, event: Event) -> None:
        key = event.entry.key
        changes = self._by_storage.get(key.storage)
        if changes is None:
            changes = self._by_storage[key.storage] = {}
        changes[key] = event

    def forget(self, events: Sequence[Event]) -> None:
        """Forgets changes that became durable, except of objects that have a newer change staged."""
        by_storage = self._by_storage
        for event in events:
            key = event.entry.key
            changes = by_storage.get(key.storage)
            if changes and changes.get(key) is event:
                del changes[key]

    def clear(self) -> None:
        """Forgets every change, after a failed commit."""
        self._by_storage.clear()
