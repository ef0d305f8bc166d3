"""The last changes, so that a watcher can resume and a list can show a recent older revision.

The window is bounded by number and by bytes, never by age: an idle server keeps what it has. Each change that
leaves the window names the journal rows that nothing needs any more (`dead`): the state it replaced and, for
a deletion, the deletion itself. Compaction removes exactly these rows; see commit.py.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from typing import NamedTuple

from longshore.store.types import Entry, Event, place


class Dead(NamedTuple):
    """A journal row that may be removed, and the change that made it removable by leaving the window."""

    revision: int
    through: int


class Window:
    """Every change after `compacted`, in order; also by storage."""

    __slots__ = ("_by_storage", "_bytes", "_events", "_max_bytes", "_max_events", "compacted", "dead")

    def __init__(self, max_events: int, max_bytes: int, compacted: int, *, journalled: bool) -> None:
        self.compacted = compacted
        """The newest revision that is no longer in the window."""
        self.dead: deque[Dead] = deque(maxlen=None if journalled else 0)
        self._max_events = max_events
        self._max_bytes = max_bytes
        self._events: deque[Event] = deque()
        self._by_storage: dict[str, deque[Event]] = {}
        self._bytes = 0

    def add(self, events: Sequence[Event]) -> None:
        """Adds the newest changes, and drops the oldest ones that no longer fit."""
        by_storage = self._by_storage
        for event in events:
            entry = event.entry
            of_storage = by_storage.get(entry.key.storage)
            if of_storage is None:
                of_storage = by_storage[entry.key.storage] = deque()
            of_storage.append(event)
            self._bytes += len(entry.raw)
        self._events.extend(events)
        while self._bytes > self._max_bytes or len(self._events) > self._max_events:
            self._drop_oldest()

    def after(self, revision: int, storage: str, namespace: str | None) -> list[Event]:
        """The changes after this revision, which must not be compacted."""
        found: list[Event] = []
        for event in reversed(self._by_storage.get(storage, ())):
            if event.revision <= revision:
                break
            if namespace is None or event.entry.key.namespace == namespace:
                found.append(event)
        found.reverse()
        return found

    def rewind(self, entries: list[Entry], changes: list[Event]) -> list[Entry]:
        """The entries before these changes, which must be all changes since then."""
        if not changes:
            return entries
        before: dict[tuple[str, str], Entry | None] = {}
        for change in changes:
            before.setdefault(change.entry.key.place, change.previous)
        past = [entry for entry in entries if entry.key.place not in before]
        past += sorted((entry for entry in before.values() if entry is not None), key=place)
        past.sort(key=place)  # two sorted runs: one merge
        return past

    def trim(self, events: int) -> None:
        """Drops all but this many of the newest changes."""
        while len(self._events) > events:
            self._drop_oldest()

    def forget(self, revision: int) -> None:
        """Drops all history up to this revision, even if that revision was never in the window."""
        while self._events and self._events[0].revision <= revision:
            self._drop_oldest()
        self.compacted = max(self.compacted, revision)

    def _drop_oldest(self) -> None:
        event = self._events.popleft()
        storage = event.entry.key.storage
        of_storage = self._by_storage[storage]
        of_storage.popleft()  # the oldest change is also the oldest of its storage
        if not of_storage:
            del self._by_storage[storage]
        self._bytes -= len(event.entry.raw)
        self.compacted = event.revision
        if event.previous is not None:
            self.dead.append(Dead(event.previous.revision, event.revision))
        if event.type == "DELETED":
            self.dead.append(Dead(event.revision, event.revision))
