"""The journal on disk: every write a row of one SQLite table. Read whole at opening, then only written.

Once it is open, it is used in the writer thread alone. A file is looked over and read through a
connection that cannot write, so a damaged one is refused exactly as it was found.
"""

from __future__ import annotations

import sqlite3
import zlib
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Literal, NamedTuple

from longshore.store import schema, sql
from longshore.store.errors import DiskFull, JournalCorrupt, JournalUnusable, WriteFailed
from longshore.store.types import Event

Durability = Literal["normal", "full"]
"""`normal`: an acknowledged write survives kill -9. `full`: power loss too."""

_WAL_BYTES = 16 << 20  # a longer log means fewer checkpoints, each of which holds up writes, but more disk
_VACUUM_PAGES = 256
_DAMAGE = frozenset((sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_ERROR))


class Row(NamedTuple):
    """One write as the journal has it."""

    revision: int
    storage: str
    namespace: str
    name: str
    deleted: int
    checksum: int
    value: bytes


class Journal:
    """An open journal, ready to take writes."""

    def __init__(self, file: Path, durability: Durability) -> None:
        self.file = file
        self._wal_bytes = 0
        self._db = sqlite3.connect(file, isolation_level=None, check_same_thread=False)
        try:
            with _explained(file):
                self._db.execute(sql.LOCK_EXCLUSIVELY)
                self._db.execute(sql.USE_WRITE_AHEAD_LOG)
                self._db.execute(sql.SYNC_ON_COMMIT if durability == "full" else sql.SYNC_ON_CHECKPOINT)
                self._db.execute(sql.CHECKPOINT_ONLY_WHEN_TOLD)
                self._db.execute(sql.KEEP_WAL_BELOW.format(2 * _WAL_BYTES))
        except BaseException:
            self._db.close()
            raise

    def append(self, events: Sequence[Event]) -> None:
        """Makes these writes durable, all or none."""
        values: list[object] = []
        size = 0
        for event in events:
            key, raw, deleted = event.entry.key, event.entry.raw, int(event.type == "DELETED")
            values += (event.revision, *key, deleted, _checksum(event.revision, *key, deleted, raw), raw)
            size += len(raw)
        try:
            self._db.execute(sql.append(len(events)), values)
        except sqlite3.Error as error:
            raise _write_error(error) from error
        self._wal_bytes += size + 2 * sql.PAGE_SIZE

    def compact(self, revisions: Sequence[int], through: int) -> None:
        """Removes rows that nothing needs, and notes up to where history has gaps now."""
        try:
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
            self._shrink()
        except sqlite3.Error as error:
            raise _write_error(error) from error
        self._wal_bytes += (len(revisions) + 2) * sql.PAGE_SIZE

    @property
    def checkpoint_due(self) -> bool:
        """Whether the write-ahead log has grown long enough. An estimate; it need not be exact."""
        return self._wal_bytes > _WAL_BYTES

    def checkpoint(self) -> None:
        """Moves the write-ahead log into the database, so that it can start over."""
        try:
            self._db.execute(sql.CHECKPOINT).fetchall()
        except sqlite3.Error as error:
            raise _write_error(error) from error
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


class Reader:
    """A journal file looked over and read before anything may write to it."""

    def __init__(self, db: sqlite3.Connection, file: Path) -> None:
        self._db = db
        self.file = file
        self.compacted: int = db.execute(sql.READ_COMPACTED).fetchone()[0]

    def rows(self) -> Iterator[Row]:
        """Every row in order, each checked against its checksum."""
        for row in map(Row._make, self._db.execute(sql.READ_ALL)):
            if row.checksum != _checksum(*row[:5], row.value):
                raise JournalCorrupt(self.file, f"revision {row.revision} does not match its checksum")
            yield row


@contextmanager
def reading(file: Path, migrations: Path = schema.MIGRATIONS) -> Iterator[Reader]:
    """Makes the file if there is none, brings it up to date, looks it over and opens it to be read.

    Raises `JournalCorrupt`, `SchemaTooNew` or `JournalUnusable`, also for what goes wrong while reading.
    """
    log = file.with_name(file.name + "-wal")
    with _explained(file):
        if not file.exists():
            if log.exists() and log.stat().st_size:
                raise JournalCorrupt(file, f"the file is missing, but {log.name} is there")
            schema.create(file, migrations)
        with closing(_read_only(file)) as db:
            current = schema.check(db, file, migrations)
            verdict = db.execute(sql.CHECK_STRUCTURE).fetchone()[0]
            if verdict != "ok":
                raise JournalCorrupt(file, verdict)
        if not current:
            schema.upgrade(file, migrations)
        with closing(_read_only(file)) as db:
            yield Reader(db, file)


def _read_only(file: Path) -> sqlite3.Connection:
    return sqlite3.connect(f"{file.absolute().as_uri()}?mode=ro", uri=True, isolation_level=None)


def _checksum(revision: int, storage: str, namespace: str, name: str, deleted: int, value: bytes) -> int:
    where = f"{revision} {storage} {namespace} {name} {deleted}"
    return zlib.crc32(value, zlib.crc32(where.encode()))


def _code(error: BaseException) -> int | None:
    """SQLite's primary result code; None for errors that Python itself raised."""
    code: int | None = getattr(error, "sqlite_errorcode", None)
    return None if code is None else code & 0xFF


@contextmanager
def _explained(file: Path) -> Iterator[None]:
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


def _write_error(error: sqlite3.Error) -> WriteFailed:
    return (DiskFull if _code(error) == sqlite3.SQLITE_FULL else WriteFailed)(str(error))
