"""Everything durable, in memory: the objects, the last changes, the revision.

Live commits and the replay of a journal go through the same `apply`, so a restarted store has the same
objects and, for watchers, the same history.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

from longshore.store.decoded_views import Decoded
from longshore.store.errors import JournalCorrupt
from longshore.store.memory_limits import Limits
from longshore.store.notes import Bundle
from longshore.store.reader import Reader, Row
from longshore.store.state import CurrentObjects
from longshore.store.types import Entry, Event, EventType, Key
from longshore.store.window import Dead, Window

FIRST_REVISION = 1
"""The revision of an empty store, as in etcd, because "0" has a meaning of its own in the API."""


class Contents:
    """Durable state. Changes only by `apply`."""

    __slots__ = ("decoded", "notes", "revision", "state", "window")

    def __init__(self, limits: Limits, compacted: int, *, journalled: bool) -> None:
        self.revision = compacted
        self.state = CurrentObjects()
        self.window = Window(limits.window_events, limits.window_bytes, compacted, journalled=journalled)
        self.decoded = Decoded(limits.decoded_bytes)
        self.notes: Sequence[Bundle] = ()
        """Bundles of notes that were found in the journal."""

    def apply(self, events: Sequence[Event]) -> None:
        """Makes changes part of the state and of the history."""
        state, replaced = self.state, self.decoded.replaced
        for event in events:
            if event.type == "DELETED":
                state.remove(event.entry.key)
                replaced(event.entry)
            else:
                state.put(event.entry)
            if event.previous is not None:
                replaced(event.previous)
        self.window.add(events)
        self.revision = events[-1].revision


def recover(reader: Reader, limits: Limits) -> Contents:
    """The contents of a journal."""
    contents, compacted = Contents(limits, reader.compacted, journalled=True), reader.compacted
    for row in reader.rows():
        if row.revision > compacted:
            contents.apply((_event(contents, row, reader.file),))
        else:
            _take_as_state(contents, row)
    contents.notes = reader.notes()
    return contents


def shared(key: Key) -> Key:
    """An equal key whose strings are shared with other keys: there are many objects and few distinct
    strings."""
    return _key(key.storage, key.namespace, key.name)


def _event(contents: Contents, row: Row, file: Path) -> Event:
    revision, storage, namespace, name, deleted, _, value = row
    previous = contents.state.at(storage, namespace, name)
    if deleted and previous is None:
        raise JournalCorrupt(file, f"revision {revision} removes an object that is not there")
    key = _key(storage, namespace, name) if previous is None else previous.key
    entry = Entry(key, revision, value, contents.decoded)
    kind: EventType = "DELETED" if deleted else "ADDED" if previous is None else "MODIFIED"
    return Event(revision, kind, entry, previous)


def _take_as_state(contents: Contents, row: Row) -> None:
    """Takes a row from before the window as state without history. The row it supersedes, and a deletion
    itself, were about to be compacted when the process ended."""
    revision, storage, namespace, name, deleted, _, value = row
    state, window = contents.state, contents.window
    previous = state.at(storage, namespace, name)
    if previous is not None:
        window.dead.append(Dead(previous.revision, window.compacted))
    if not deleted:
        key = _key(storage, namespace, name) if previous is None else previous.key
        state.put(Entry(key, revision, value, contents.decoded))
        return
    window.dead.append(Dead(revision, window.compacted))
    if previous is not None:
        state.remove(previous.key)


def _key(storage: str, namespace: str, name: str) -> Key:
    return Key(sys.intern(storage), sys.intern(namespace), name)
