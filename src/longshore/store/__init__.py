"""Revisioned objects in memory with a SQLite journal: one writer, group commit, watch.

`Store` is the whole interface; docs/explanation/store.md tells how a write travels through it.
"""

from longshore.store.batch import Staged
from longshore.store.commit import Commit, Counters
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
from longshore.store.journal import Durability
from longshore.store.memory_limits import Limits
from longshore.store.store import Store
from longshore.store.types import Entry, Event, EventType, Key, Page, Snapshot
from longshore.store.watch import Watch

__all__ = [
    "Commit",
    "Compacted",
    "Counters",
    "DataDirBusy",
    "DiskFull",
    "Durability",
    "Entry",
    "Event",
    "EventType",
    "FutureRevision",
    "JournalCorrupt",
    "JournalUnusable",
    "Key",
    "Limits",
    "Page",
    "SchemaTooNew",
    "Snapshot",
    "Staged",
    "Store",
    "StoreClosed",
    "StoreError",
    "Watch",
    "WatchOverflow",
    "WriteFailed",
]
