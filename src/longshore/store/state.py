"""The current objects by storage, namespace and name. Durable state only.

A write costs the same however many objects there are. Names are sorted when a list needs it: then names added
or removed since are merged in, and a page is found by its first name.
"""

from __future__ import annotations

from collections.abc import Iterator

from longshore.store.ordered_names import OrderedNames
from longshore.store.types import Entry, Key


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


class State:
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

    def entries_from(
        self, storage: str, namespace: str | None, start: tuple[str, str] | None
    ) -> Iterator[list[Entry]]:
        """The objects at and after a place, in lists that are valid until the next change."""
        for space, name in self._spaces_from(storage, namespace, start):
            entries = space.entries
            for names in space.order().from_(name):
                yield [entries[each] for each in names]

    def count_from(self, storage: str, namespace: str | None, start: tuple[str, str] | None) -> int:
        """How many objects are at and after a place."""
        return sum(
            space.order().count_from(name) if name else len(space.entries)
            for space, name in self._spaces_from(storage, namespace, start)
        )

    def _spaces_from(
        self, storage: str, namespace: str | None, start: tuple[str, str] | None
    ) -> list[tuple[Space, str]]:
        """The spaces that have objects at and after a place, each with the name to begin at."""
        spaces = self.storages.get(storage, NO_SPACES)
        first, name = start or ("", "")
        if namespace is None:
            chosen = sorted(each for each in spaces if each >= first)
        else:
            chosen = [namespace] if namespace in spaces and namespace >= first else []
        return [(spaces[each], name if each == first else "") for each in chosen]

    def counts(self) -> dict[str, int]:
        """The number of objects in each storage."""
        return {
            storage: sum(len(space.entries) for space in spaces.values())
            for storage, spaces in self.storages.items()
        }


NO_SPACES: dict[str, Space] = {}
