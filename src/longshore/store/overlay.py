"""Changes that are staged but not durable yet, by storage: what writers see and readers do not."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from longshore.store.types import Event, Key

_NONE: Final[Mapping[Key, Event]] = {}


class Overlay:
    """The newest staged change of each object."""

    def __init__(self) -> None:
        self._by_storage: dict[str, dict[Key, Event]] = {}

    def get(self, key: Key) -> Event | None:
        """The newest change of one object; None when its durable state is the newest."""
        changes = self._by_storage.get(key.storage)
        return changes.get(key) if changes else None

    def of(self, storage: str) -> Mapping[Key, Event]:
        """All staged changes of one storage."""
        return self._by_storage.get(storage) or _NONE

    def put(self, event: Event) -> None:
        key = event.entry.key
        changes = self._by_storage.get(key.storage)
        if changes is None:
            changes = self._by_storage[key.storage] = {}
        changes[key] = event

    def settle(self, event: Event) -> None:
        """Forgets a change that became durable, unless a newer one of the same object is staged."""
        key = event.entry.key
        changes = self._by_storage.get(key.storage)
        if changes and changes.get(key) is event:
            del changes[key]

    def clear(self) -> None:
        """Forgets everything: the commit failed."""
        self._by_storage.clear()
