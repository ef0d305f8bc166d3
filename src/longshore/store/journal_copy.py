"""Copies a journal, while it is written or from a directory that is not in use, and checks copies.

SQLite copies the pages in small steps, between which writes go on; pages that change meanwhile are copied
again, so the copy shows the journal at the moment when the copy is complete. A copy is never upgraded here.
"""

from __future__ import annotations

import os
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Final

import msgspec

from longshore.store import contents, journal_schema, sql
from longshore.store.errors import JournalCorrupt
from longshore.store.lock import DataDirLock
from longshore.store.reader import Reader, read_only
from longshore.store.sqlite import explained

_STEP_PAGES: Final = 128
"""One megabyte; a write waits some milliseconds while a step is copied."""
_STEP_PAUSE_SECONDS: Final = 0.002


class Verified(msgspec.Struct, frozen=True):
    """The facts of a journal that was read whole."""

    schema: int
    revision: int
    objects: int


def copy(db: sqlite3.Connection, file: Path) -> None:
    """Copies an open journal into a new file, which only its owner may read. A failure leaves no file."""
    os.close(os.open(file, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
    try:
        with closing(sqlite3.connect(file)) as target:
            db.backup(target, pages=_STEP_PAGES, sleep=_STEP_PAUSE_SECONDS)
            target.execute(sql.USE_NO_LOG)  # one file, complete by itself
    except BaseException:
        file.unlink(missing_ok=True)
        raise


def copy_idle(directory: Path, file: Path) -> None:
    """Copies the journal of a directory that no longshore uses. Raises `DataDirBusy` if one does."""
    source = directory / "journal.db"
    lock = DataDirLock(directory)
    try:
        with explained(source), closing(read_only(source)) as db:
            copy(db, file)
    finally:
        lock.release()


def verified(file: Path, migrations: Path = journal_schema.MIGRATIONS) -> Verified:
    """Reads a journal to its end: structure, checksums, version.

    Raises `JournalCorrupt`, `SchemaTooNew` or `JournalUnusable`. Changes nothing.
    """
    with explained(file), closing(read_only(file)) as db:
        journal_schema.check(db, file, migrations)
        verdict = db.execute(sql.CHECK_STRUCTURE).fetchone()[0]
        if verdict != "ok":
            raise JournalCorrupt(file, verdict)
        reader = Reader(db, file)
        revision, there = reader.compacted, set[tuple[str, str, str]]()
        for row in reader.rows():
            revision = row.revision
            key = row.storage, row.namespace, row.name
            there.discard(key) if row.deleted else there.add(key)
        return Verified(journal_schema.version(db), max(revision, contents.FIRST_REVISION), len(there))
