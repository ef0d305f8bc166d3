"""The journal on disk: each write is a row of one SQLite table. Rows are appended and compacted, never
changed."""

from __future__ import annotations

import sqlite3
import time
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path

from longshore.store import sql
from longshore.store.batch import Batch
from longshore.store.errors import DiskFull, JournalCorrupt, JournalGone, JournalUnusable, WriteFailed
from longshore.store.file_identity import OpenFiles
from longshore.store.journal import Durability
from longshore.store.notes import Bundle
from longshore.store.reserve import Reserve
from longshore.store.types import Event

_CHECKPOINT_BYTES = (
    16 << 20
)  # a longer log means fewer checkpoints, each of which holds up writes, but more disk
_CHECKPOINT_RETRY_BYTES = 1 << 20
_SHRINK_PAGES = 256
_NEVER_BYTES = 1 << 62
_QUICK_WRITES = 64
_QUICK_BYTES = 256 << 10
_DAMAGE_CODES = frozenset((sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_ERROR))


class SqliteJournal:
    """An open journal that takes writes. `reader.py` reads it before."""

    def __init__(self, file: Path, durability: Durability) -> None:
        self._syncs = durability == "full"
        self._log = file.with_name(file.name + "-wal")
        self._log_bytes = self._log_length()
        """The rough length of the log; the rest of its file is left over from before the last checkpoint."""
        self._free_pages = False
        """Whether the file has many pages that hold nothing."""
        self._bundles: list[Bundle] = []
        """Notes to be written."""
        self._first_bundles: dict[str, int] = {}
        """By shelf, the first bundle of notes to be kept."""
        self._hold_at = 0
        """The length of the log at which more disk space is reserved for it."""
        # Used by the event loop and the writer thread in turn, never by both at a time.
        self._db = sqlite3.connect(file, isolation_level=None, check_same_thread=False)
        try:
            with explained(file):
                self._db.execute(sql.LOCK_EXCLUSIVELY)
                self._db.execute(sql.USE_WRITE_AHEAD_LOG)
                self._db.execute(sql.SYNC_ON_COMMIT if self._syncs else sql.SYNC_ON_CHECKPOINT)
                self._db.execute(sql.CHECKPOINT_ONLY_WHEN_TOLD)
                self.reserve = Reserve(file, time.monotonic)
                self.files = OpenFiles(time.monotonic)
                self.files.know(file)
        except BaseException:
            self._db.close()
            raise

    def is_quick(self, batch: Batch, was_slow: bool) -> bool:
        if was_slow or self._syncs:
            return False
        return len(batch.events) <= _QUICK_WRITES and batch.size <= _QUICK_BYTES

    def stopwatch(self) -> float:
        return time.perf_counter()

    def append(self, events: Sequence[Event]) -> None:
        values: list[object] = []
        size = 2 * sql.PAGE_SIZE  # of the last leaf and what is above it
        for event in events:
            entry = event.entry
            key, raw = entry.key, entry.raw
            row = (entry.revision, key.storage, key.namespace, key.name, 1 if event.type == "DELETED" else 0)
            values += row
            values += (checksum(*row, raw), raw)
            size += len(raw) + len(raw) // 4
        if (missing := self.files.missing) is not None:
            raise JournalGone(str(missing))
        statement = sql.append(len(events))
        try:
            self._db.execute(statement, values)
        except sqlite3.Error as error:
            failure = _failure(error)
            if not isinstance(failure, DiskFull) or not self.reserve.size:
                raise failure from error
            self._make_room()
            with _failing():
                self._db.execute(statement, values)
        if not self.files.knows(self._log):  # SQLite makes it with the first write
            self.files.know(self._log)
        self._log_bytes += size
        if self._log_bytes >= self._hold_at:
            self.hold()

    def _make_room(self) -> None:
        """Moves the log into the space reserved for the database, so that the log starts over."""
        try:
            self._checkpoint()
        except DiskFull:
            if not self.reserve.give_up():
                raise
            self.hold()
            self._checkpoint()

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
        self._log_bytes += len(revisions) * sql.PAGE_SIZE
        with suppress(sqlite3.Error):  # the rows are gone; giving back their space can wait
            self._look_for_free_pages()

    def note(self, bundle: Bundle, first: int) -> None:
        self._bundles.append(bundle)
        self._first_bundles[bundle.shelf] = first

    def chore(self) -> Callable[[], None] | None:
        if self._bundles:
            bundles, self._bundles = self._bundles, []
            return partial(self._write_notes, bundles, dict(self._first_bundles))
        if self._log_bytes > _CHECKPOINT_BYTES:
            self._log_bytes = _CHECKPOINT_BYTES - _CHECKPOINT_RETRY_BYTES  # if it fails
            return self._checkpoint
        # On a full disk the room is needed here.
        return self._shrink if self._free_pages and not self.reserve.was_short else None

    def copy_to(self, file: Path) -> None:
        """Copies the journal into a new file. Runs in a thread of its own while writes go on."""
        from longshore.store import journal_copy  # imports this module

        with _failing():
            journal_copy.copy(self._db, file)

    def close(self) -> None:
        with suppress(WriteFailed):  # a log left behind is read at the next opening
            self._write_notes(self._bundles, self._first_bundles)
            self._checkpoint()
        self._db.close()
        self.reserve.release()

    def _write_notes(self, bundles: Sequence[Bundle], first: Mapping[str, int]) -> None:
        """Writes bundles that wait, and removes old ones."""
        with _failing():
            for bundle in bundles:
                self._db.execute(sql.KEEP_NOTES, bundle)
            for shelf in {bundle.shelf for bundle in bundles}:
                self._db.execute(sql.FORGET_NOTES, (shelf, first[shelf]))
        self._log_bytes += sum(len(bundle.data) for bundle in bundles) + sql.PAGE_SIZE

    def _checkpoint(self) -> None:
        """Moves the write-ahead log into the database file and starts the log over."""
        too_long = self._log_length() > 2 * _CHECKPOINT_BYTES
        with _failing():
            self._db.execute(sql.CHECKPOINT_AND_EMPTY if too_long else sql.CHECKPOINT).fetchall()
        self._log_bytes = 0
        self.hold()

    def hold(self) -> None:
        """Reserves disk space for the next writes."""
        self.reserve.hold(self._log_bytes)
        if not self.reserve.size:
            self._hold_at = _NEVER_BYTES
        elif self.reserve.has_log:
            self._hold_at = self._log_bytes + self.reserve.size // 2

    def _log_length(self) -> int:
        try:
            return self._log.stat().st_size
        except OSError:
            return 0

    def _shrink(self) -> None:
        """Gives a little of the free space back to the file system."""
        with _failing():
            self._db.execute(sql.VACUUM_SOME.format(_SHRINK_PAGES)).fetchall()
            self._look_for_free_pages()

    def _look_for_free_pages(self) -> None:
        free: int = self._db.execute(sql.READ_FREE_COUNT).fetchone()[0]
        pages: int = self._db.execute(sql.READ_PAGE_COUNT).fetchone()[0]
        # Some are always free under updates, and are used again: no reason to move pages about.
        self._free_pages = free > _SHRINK_PAGES and 2 * free > pages


def checksum(revision: int, storage: str, namespace: str, name: str, deleted: int, value: bytes) -> int:
    """The checksum of one row: SQLite checks the structure of its pages, but not their content."""
    where = f"{revision} {storage} {namespace} {name} {deleted}"
    return zlib.crc32(value, zlib.crc32(where.encode()))


@contextmanager
def explained(file: Path) -> Iterator[None]:
    """Turns an SQLite error on opening or reading into an error of the store that names the cure."""
    try:
        yield
    except sqlite3.Error as error:
        code = _code(error)
        if code is None or code in _DAMAGE_CODES:
            raise JournalCorrupt(file, str(error)) from error
        raise JournalUnusable(f"{file}: {error}") from error
    except OSError as error:
        raise JournalUnusable(f"{file}: {error}") from error


@contextmanager
def _failing() -> Iterator[None]:
    try:
        yield
    except sqlite3.Error as error:
        raise _failure(error) from error


def _failure(error: sqlite3.Error) -> WriteFailed:
    return (DiskFull if _code(error) == sqlite3.SQLITE_FULL else WriteFailed)(str(error))


def _code(error: sqlite3.Error) -> int | None:
    """SQLite's primary result code; None for errors that Python itself raised."""
    code: int | None = getattr(error, "sqlite_errorcode", None)
    return None if code is None else code & 0xFF
