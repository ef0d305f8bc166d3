"""The current objects by storage, namespace and name. Durable state only.

A write costs the same however many objects there are. Names are sorted when somebody lists: new names are
merged into the names sorted before, in time linear in that list.
"""

from __future__ import annotations

from longshore.store.types import Entry, Key


class Space:
    """The objects of one storage in one namespace."""

    __slots__ = ("_order", "_removed", "added", "entries")

    def __init__(self) -> None:
        self.entries: dict[str, Entry] = {}
        self._order: list[str] = []
        self.added: set[str] = set()
        """Names not yet in `_order`, or there only as leftovers of an object removed since."""
        self._removed = False
        """Whether `_order` has such leftovers."""

    def remove(self, name: str) -> None:
        del self.entries[name]
        if name in self.added:
            self.added.remove(name)
        else:
            self._removed = True

    def ordered(self) -> list[Entry]:
        entries, added = self.entries, self.added
        if self._removed:
            self._order = [name for name in self._order if name in entries and name not in added]
            self._removed = False
        if added:
            self._order += sorted(added)
            self._order.sort()  # two sorted runs: one merge
            self.added = set()
        return [entries[name] for name in self._order]


class State:
    """Every object, readable by key and listable in order."""

    __slots__ = ("storages",)

    def __init__(self) -> None:
        self.storages: dict[str, dict[str, Space]] = {}
        """By storage and namespace; there is no space without objects."""

    def get(self, key: Key) -> Entry | None:
        space = self.storages.get(key.storage, NO_SPACES).get(key.namespace)
        return None if space is None else space.entries.get(key.name)

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
        spaces = self.storages.get(storage, NO_SPACES)
        if namespace is not None:
            space = spaces.get(namespace)
            return [] if space is None else space.ordered()
        if len(spaces) == 1:
            return next(iter(spaces.values())).ordered()
        return [entry for name in sorted(spaces) for entry in spaces[name].ordered()]

    def counts(self) -> dict[str, int]:
        """The number of objects in each storage."""
        return {
            storage: sum(len(space.entries) for space in spaces.values())
            for storage, spaces in self.storages.items()
        }


NO_SPACES: dict[str, Space] = {}
