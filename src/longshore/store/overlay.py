"""Changes that are staged but not durable yet, by storage: what writers see and readers do not.

Laid over the durable state: a writer asks here for the newest state of an object, and most objects have
nothing staged. Every write asks several times, so this looks into the state itself, without calls.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from longshore.store.state import NOTHING, State
from longshore.store.types import Entry, Event, Key

_NONE: Final[Mapping[Key, Event]] = {}


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
        space = self._storages.get(key.storage, NOTHING).get(key.namespace)
        return None if space is None else space.entries.get(key.name)

    def is_empty(self, storage: str) -> bool:
        """Whether a storage has no objects, and none is staged."""
        return not self._by_storage.get(storage) and not self._storages.get(storage)

    def of(self, storage: str) -> Mapping[Key, Event]:
        """All staged changes of one storage."""
        return self._by_storage.get(storage) or _NONE

    def put(self, event: Event) -> None:
        key = event.entry.key
        changes = self._by_storage.get(key.storage)
        if changes is None:
            changes = self._by_storage[key.storage] = {}
        changes[key] = event

    def settle(self, events: Sequence[Event]) -> None:
        """Forgets changes that became durable, but those of objects that have a newer one staged."""
        by_storage = self._by_storage
        for event in events:
            key = event.entry.key
            changes = by_storage.get(key.storage)
            if changes and changes.get(key) is event:
                del changes[key]

    def clear(self) -> None:
        """Forgets everything: the commit failed."""
        self._by_storage.clear()
