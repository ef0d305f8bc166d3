"""A store that was stopped, and is opened again from a journal of the first schema, as after an upgrade.

Notes are lost, which journals of that schema had no place for.
"""

from __future__ import annotations

import shutil
import sqlite3
from contextlib import closing
from pathlib import Path
from tempfile import TemporaryDirectory

from longshore.store import contents, journal_schema, sql
from longshore.store.memory_limits import Limits
from longshore.store.reader import reading
from longshore.store.sqlite import checksum
from simulation.record import RecordingStore


def reopened(store: RecordingStore) -> RecordingStore:
    """A store with the objects and the history of this one, which is used no more."""
    with TemporaryDirectory() as name:
        folder = Path(name)
        first = journal_schema.scripts(journal_schema.MIGRATIONS)[0]
        shutil.copy(first, folder)
        file = folder / "journal"
        journal_schema.create(file, folder)
        rows = []
        for event in store._contents.window._events:
            entry, is_deleted = event.entry, int(event.type == "DELETED")
            key = entry.key
            row = event.revision, key.storage, key.namespace, key.name, is_deleted
            rows.append((*row, checksum(*row, entry.raw), entry.raw))
        with closing(sqlite3.connect(file)) as db, db:
            db.executemany(sql.append(1), rows)
        with reading(file) as reader:
            found = contents.recover(reader, Limits())
    again = RecordingStore(None, found, Limits())
    again.record, again.clock = store.record, store.clock
    return again
