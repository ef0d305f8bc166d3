"""All that is in memory and durable: the objects, the last changes, the revision.

Live commits and the replay of a journal go through the same `apply`, so a restarted store has the
same objects and, for watchers, the same history.
"""

from __future__ import annotations

import sys
from pathlib import Path

from longshore.store.decoded import Decoded
from longshore.store.errors import JournalCorrupt
from longshore.store.limits import Limits
from longshore.store.reader import Reader, Row
from longshore.store.state import State
from longshore.store.types import Entry, Event, EventType, Key
from longshore.store.window import Dead, Window

FIRST_REVISION = 1
"""Of a store that nobody wrote to. As in etcd, because "0" has a meaning of its own in the API."""


class Contents:
    """Durable state. Changes only by `apply`."""

    __slots__ = ("decoded", "revision", "state", "window")

    def __init__(self, limits: Limits, compacted: int, *, journalled: bool) -> None:
        self.revision = compacted
        self.state = State()
        self.window = Window(limits.window_events, limits.window_bytes, compacted, journalled=journalled)
        self.decoded = Decoded(limits.decoded_bytes)

    def apply(self, event: Event) -> None:
        """Makes one change part of the state and of the history."""
        if event.type == "DELETED":
            self.state.remove(event.entry.key)
        else:
            self.state.put(event.entry)
        self.window.add(event)
        self.revision = event.revision


def recover(reader: Reader, limits: Limits) -> Contents:
    """The contents that a journal holds."""
    contents = Contents(limits, reader.compacted, journalled=True)
    for row in reader.rows():
        if row.revision > reader.compacted:
            contents.apply(_event(contents, row, reader.file))
        else:
            _take_as_state(contents, row)
    return contents


def change(previous: Entry | None, entry: Entry, *, deleted: bool) -> Event:
    """The change from one state of an object to the next."""
    kind: EventType = "DELETED" if deleted else "ADDED" if previous is None else "MODIFIED"
    return Event(entry.revision, kind, entry, previous)


def shared(key: Key, previous: Entry | None) -> Key:
    """The same key, its words shared with other keys: there are many objects and few words."""
    return previous.key if previous else Key(sys.intern(key.storage), sys.intern(key.namespace), key.name)


def _event(contents: Contents, row: Row, file: Path) -> Event:
    key = Key(row.storage, row.namespace, row.name)
    previous = contents.state.get(key)
    if row.deleted and previous is None:
        raise JournalCorrupt(file, f"revision {row.revision} removes an object that is not there")
    entry = Entry(shared(key, previous), row.revision, row.value, contents.decoded)
    return change(previous, entry, deleted=bool(row.deleted))


def _take_as_state(contents: Contents, row: Row) -> None:
    """A row from before the window: state without history. What it supersedes, and a deletion
    itself, was about to be compacted when the process ended."""
    key = Key(row.storage, row.namespace, row.name)
    previous = contents.state.get(key)
    through = contents.window.compacted
    if previous is not None:
        contents.window.dead.append(Dead(previous.revision, through))
    if not row.deleted:
        contents.state.put(Entry(shared(key, previous), row.revision, row.value, contents.decoded))
        return
    contents.window.dead.append(Dead(row.revision, through))
    if previous is not None:
        contents.state.remove(key)
