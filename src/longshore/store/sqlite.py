"""The journal on disk: every write a row of one SQLite table, only ever appended to and compacted."""

from __future__ import annotations

import sqlite3
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from longshore.store import sql
from longshore.store.batch import Batch
from longshore.store.errors import DiskFull, JournalCorrupt, JournalUnusable, WriteFailed
from longshore.store.journal import Durability
from longshore.store.types import Event

_WAL_BYTES = 16 << 20  # a longer log means fewer checkpoints, each of which holds up writes, but more disk
_VACUUM_PAGES = 256
_QUICK_WRITES = 64
_QUICK_BYTES = 256 << 10
_DAMAGE = frozenset((sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_ERROR))


class SqliteJournal:
    """An open journal, ready to take writes. Read it before (`reader.py`)."""

    def __init__(self, file: Path, durability: Durability) -> None:
        self._syncs = durability == "full"
        self._wal_bytes = 0
        """How long the write-ahead log is. An estimate; it need not be exact."""
        # Used by the event loop and the writer thread in turn, never by both at a time.
        self._db = sqlite3.connect(file, isolation_level=None, check_same_thread=False)
        try:
            with explained(file):
                self._db.execute(sql.LOCK_EXCLUSIVELY)
                self._db.execute(sql.USE_WRITE_AHEAD_LOG)
                self._db.execute(sql.SYNC_ON_COMMIT if self._syncs else sql.SYNC_ON_CHECKPOINT)
                self._db.execute(sql.CHECKPOINT_ONLY_WHEN_TOLD)
                self._db.execute(sql.KEEP_WAL_BELOW.format(2 * _WAL_BYTES))
        except BaseException:
            self._db.close()
            raise

    def is_quick(self, batch: Batch) -> bool:
        return not self._syncs and len(batch.events) <= _QUICK_WRITES and batch.size <= _QUICK_BYTES

    def append(self, events: Sequence[Event]) -> None:
        values: list[object] = []
        size = 0
        for event in events:
            key, raw, deleted = event.entry.key, event.entry.raw, int(event.type == "DELETED")
            values += (event.revision, *key, deleted, checksum(event.revision, *key, deleted, raw), raw)
            size += len(raw)
        with _failing():
            self._db.execute(sql.append(len(events)), values)
        self._wal_bytes += size + 2 * sql.PAGE_SIZE

    def compact(self, revisions: Sequence[int], through: int) -> None:
        with _failing():
            self._db.execute(sql.BEGIN)
            try:
                if revisions:
                    self._db.execute(sql.remove(len(revisions)), revisions)
                self._db.execute(sql.SET_COMPACTED, (through,))
                self._db.execute(sql.COMMIT)
            except sqlite3.Error:
                with suppress(sqlite3.Error):  # SQLite may have rolled back by itself
                    self._db.execute(sql.ROLLBACK)
                raise
        self._wal_bytes += (len(revisions) + 2) * sql.PAGE_SIZE
        with suppress(sqlite3.Error):  # the rows are gone; giving back their space can wait
            self._shrink()

    @property
    def checkpoint_due(self) -> bool:
        return self._wal_bytes > _WAL_BYTES

    def checkpoint(self) -> None:
        """Moves the write-ahead log into the database, so that it can start over."""
        with _failing():
            self._db.execute(sql.CHECKPOINT).fetchall()
        self._wal_bytes = 0

    def close(self) -> None:
        with suppress(sqlite3.Error):  # a log left behind is read at the next opening
            self._db.execute(sql.CHECKPOINT_AND_TRUNCATE).fetchall()
        self._db.close()

    def _shrink(self) -> None:
        """Gives space back when a quarter of the file is empty; a little at a time."""
        free: int = self._db.execute(sql.READ_FREE_COUNT).fetchone()[0]
        if free > _VACUUM_PAGES and 4 * free > self._db.execute(sql.READ_PAGE_COUNT).fetchone()[0]:
            self._db.execute(sql.VACUUM_SOME.format(_VACUUM_PAGES)).fetchall()


def checksum(revision: int, storage: str, namespace: str, name: str, deleted: int, value: bytes) -> int:
    """Of one row. SQLite checks the shape of its pages, but not what is written in them."""
    where = f"{revision} {storage} {namespace} {name} {deleted}"
    return zlib.crc32(value, zlib.crc32(where.encode()))


@contextmanager
def explained(file: Path) -> Iterator[None]:
    """Says what an error on opening or reading means for the person who starts longshore."""
    try:
        yield
    except sqlite3.Error as error:
        code = _code(error)
        if code is None or code in _DAMAGE:
            raise JournalCorrupt(file, str(error)) from error
        raise JournalUnusable(f"{file}: {error}") from error
    except OSError as error:
        raise JournalUnusable(f"{file}: {error}") from error


@contextmanager
def _failing() -> Iterator[None]:
    try:
        yield
    except sqlite3.Error as error:
        kind = DiskFull if _code(error) == sqlite3.SQLITE_FULL else WriteFailed
        raise kind(str(error)) from error


def _code(error: sqlite3.Error) -> int | None:
    """SQLite's primary result code; None for errors that Python itself raised."""
    code: int | None = getattr(error, "sqlite_errorcode", None)
    return None if code is None else code & 0xFF
