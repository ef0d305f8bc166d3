"""Revisioned objects in memory with a SQLite journal: one writer, group commit, watch.

`Store` is the whole interface; docs/store.md tells how a write travels through it.
"""

from longshore.store.errors import (
    Compacted,
    DataDirBusy,
    DiskFull,
    FutureRevision,
    JournalCorrupt,
    JournalUnusable,
    SchemaTooNew,
    StoreClosed,
    StoreError,
    WatchOverflow,
    WriteFailed,
)
from longshore.store.types import Entry, Event, EventType, Key, Snapshot

__all__ = [
    "Compacted",
    "DataDirBusy",
    "DiskFull",
    "Entry",
    "Event",
    "EventType",
    "FutureRevision",
    "JournalCorrupt",
    "JournalUnusable",
    "Key",
    "SchemaTooNew",
    "Snapshot",
    "StoreClosed",
    "StoreError",
    "WatchOverflow",
    "WriteFailed",
]
