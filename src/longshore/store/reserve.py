"""Room on the disk that is the journal's alone, so that a disk full of other things still takes deletions.

The journal's log and its database each have some room beyond their end (`fallocate`), which nobody else can
take; it is renewed as they grow. When it cannot be renewed the disk is full: new objects are then refused,
while changes and deletions go on with what is held. A file beside them, `reserve`, keeps room while longshore
does not run: the next start on a full disk gives it up.

On a file system that cannot hold room, or on a tiny one, nothing is held.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Final

_HELD_BYTES: Final = 4 << 20
"""Beyond the end of each file: some thousand deletions."""
_DISK_PARTS: Final = 64
"""Of a small disk no more than one part of so many."""
_MIN_DISK_BYTES: Final = 32 << 20
_MIN_ROOM_BYTES: Final = 64 << 10
_FULL_BYTES: Final = 1 << 20
"""With less than this a start may fail, so it gives up the reserve."""
_LOOK_SECONDS: Final = 1.0
_KEEP_SIZE: Final = 1  # FALLOC_FL_KEEP_SIZE: the file does not look longer
_FULL_ERRORS: Final = (errno.ENOSPC, errno.EDQUOT)


def make_room(directory: Path) -> None:
    """Gives up the reserve of a data directory if its disk is full."""
    with suppress(OSError):
        disk = os.statvfs(directory)
        if disk.f_bavail * disk.f_frsize < _FULL_BYTES:
            (directory / "reserve").unlink(missing_ok=True)


class Reserve:
    """The room of one journal, from `hold` to `release`."""

    def __init__(self, journal: Path, monotonic: Callable[[], float]) -> None:
        self._journal, self._monotonic = journal, monotonic
        self._log = journal.with_name(journal.name + "-wal")
        self._spare = journal.with_name("reserve")
        disk = os.statvfs(journal.parent)
        size = disk.f_blocks * disk.f_frsize
        self.size = min(_HELD_BYTES, size // _DISK_PARTS) if size >= _MIN_DISK_BYTES else 0
        """Bytes beyond the end of each file; 0 when nothing can be held."""
        self._descriptors: dict[Path, int] = {}
        """Kept open: to close one of the database would end SQLite's own locks on it."""
        self.was_short = False
        """Whether the room could not be taken when it was last tried."""
        self._log_bytes = 0
        self._looked = 0.0

    @property
    def has_log(self) -> bool:
        """Whether the log was there to take room for: SQLite makes it with the first write."""
        return self._log in self._descriptors

    def hold(self, log_bytes: int) -> None:
        """Takes the room. `log_bytes` is the length of the log, all of which will go into the database."""
        self._log_bytes, self._looked = log_bytes, self._monotonic()
        if not self.size:
            return
        try:
            # SQLite gives the database's room back at the end of a checkpoint, so this comes first.
            self._take(self._journal, os.stat(self._journal).st_size, log_bytes + self.size)
            self._take(self._log, log_bytes, self.size)
            self._take_spare()
            self.was_short = False
        except OSError as problem:
            if problem.errno in _FULL_ERRORS:
                self.was_short = True
            else:
                self.size = 0

    @property
    def is_short(self) -> bool:
        """Whether the room could not be taken, looked at again every second."""
        if self.was_short and self._monotonic() - self._looked >= _LOOK_SECONDS:
            self.hold(self._log_bytes)
        return self.was_short

    def release(self) -> None:
        """Gives the room back but for the file. SQLite must have closed its own."""
        for path, fd in self._descriptors.items():
            with suppress(OSError):
                if path == self._journal:
                    os.ftruncate(fd, os.fstat(fd).st_size)
            os.close(fd)
        self._descriptors = {}

    def give_up(self) -> bool:
        """Removes the file, for those who take its room at once. False if there is none."""
        try:
            self._spare.unlink()
        except OSError:
            return False
        return True

    def _take(self, file: Path, end: int, room: int) -> None:
        """Takes room beyond the end of a file. Raises OSError after taking a part where there is no more."""
        full: OSError | None = None
        fd = self._descriptors.get(file)
        if fd is None:
            try:
                fd = self._descriptors[file] = os.open(file, os.O_RDWR | os.O_CLOEXEC)
            except FileNotFoundError:
                return
        while True:
            try:
                _fallocate(fd, end + room)
                break
            except OSError as problem:
                if problem.errno not in _FULL_ERRORS or room < _MIN_ROOM_BYTES:
                    raise
                full, room = problem, room // 2
        if full is not None:
            raise full

    def _take_spare(self) -> None:
        fd = os.open(self._spare, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            if os.fstat(fd).st_blocks * 512 < self.size:
                _fallocate(fd, self.size)
        finally:
            os.close(fd)


def _fallocate(fd: int, length: int) -> None:
    import ctypes  # a store in memory has no use for it

    libc = ctypes.CDLL(None, use_errno=True)
    if libc.fallocate(fd, _KEEP_SIZE, ctypes.c_int64(0), ctypes.c_int64(length)):
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
