"""Changes that are staged but not durable yet, by storage. Writers see them; readers do not.

The overlay lies over the durable state: a writer asks here for the newest state of an object, and most
objects have nothing staged. Every write asks several times, so the overlay reads the state's dicts itself
instead of calling methods.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from longshore.store.state import NO_SPACES, State
from longshore.store.types import Entry, Event, Key

_NO_CHANGES: Final[Mapping[Key, Event]] = {}


class Overlay:
    """The newest staged change of each object."""

    __slots__ = ("_by_storage", "_storages")

    def __init__(self, state: State) -> None:
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

    def settle(self, events: Sequence[Event]) -> None:
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
