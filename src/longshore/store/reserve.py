"""Reserves disk space for the journal, so that deletions still work when other files have filled the disk.

The journal's log and its database each have space reserved beyond their end (`fallocate`), which no other
file can take; it is renewed as they grow. When it cannot be renewed, or almost nothing else is free, the disk
counts as full: new objects are refused, while changes and deletions use the reserved space. The file
`reserve` beside them keeps space while longshore does not run; the next start on a full disk removes it.

On a file system without `fallocate` nothing is reserved; new objects are still refused early.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Final

_HELD_BYTES: Final = 4 << 20
"""Bytes reserved beyond the end of each file, enough for some thousand deletions."""
_DISK_DIVISOR: Final = 32
"""Each file reserves at most 1/32 of the disk: 640 KiB of 20 MiB, enough for some hundred deletions."""
_MIN_ROOM_BYTES: Final = 64 << 10
"""A disk with less than this free is full."""
_FULL_BYTES: Final = 1 << 20
"""If less than this is free, a start may fail, so it removes the file `reserve`."""
_LOOK_SECONDS: Final = 1.0
_KEEP_SIZE: Final = 1  # FALLOC_FL_KEEP_SIZE: the file does not look longer
_FULL_ERRORS: Final = (errno.ENOSPC, errno.EDQUOT)


def make_room(directory: Path) -> None:
    """Removes the file `reserve` of a data directory if its disk is full."""
    with suppress(OSError):
        disk = os.statvfs(directory)
        if disk.f_bavail * disk.f_frsize < _FULL_BYTES:
            (directory / "reserve").unlink(missing_ok=True)


class Reserve:
    """The reserved space of one journal, from `hold` to `release`."""

    def __init__(self, journal: Path, monotonic: Callable[[], float]) -> None:
        self._journal, self._monotonic = journal, monotonic
        self._log = journal.with_name(journal.name + "-wal")
        self._spare = journal.with_name("reserve")
        disk = os.statvfs(journal.parent)
        size = disk.f_blocks * disk.f_frsize
        self.size = min(_HELD_BYTES, size // _DISK_DIVISOR)
        """Bytes reserved beyond the end of each file; 0 if the file system cannot reserve any."""
        self._descriptors: dict[Path, int] = {}
        """Kept open: closing a descriptor of the database would release SQLite's own locks on it."""
        self.was_short = False
        """Whether the disk was full at the last check."""
        self._log_bytes = 0
        self._looked = 0.0

    @property
    def has_log(self) -> bool:
        """Whether space is reserved for the log, which SQLite creates with the first write."""
        return self._log in self._descriptors

    def hold(self, log_bytes: int) -> None:
        """Reserves the space. `log_bytes` is the length of the log, all of which will go into the
        database."""
        self._log_bytes, self._looked = log_bytes, self._monotonic()
        if not self.size:
            self.was_short = self._is_full()
            return
        try:
            # SQLite gives the database's room back at the end of a checkpoint, so this comes first.
            self._take(self._journal, os.stat(self._journal).st_size, log_bytes + self.size)
            self._take(self._log, log_bytes, self.size)
            self._take_spare()
            self.was_short = self._is_full()
        except OSError as problem:
            if problem.errno in _FULL_ERRORS:
                self.was_short = True
            else:
                self.size = 0

    @property
    def is_short(self) -> bool:
        """Whether the disk is full, checked at most once a second."""
        now = self._monotonic()
        if now - self._looked >= _LOOK_SECONDS:
            self._looked = now
            if self.was_short or self._is_full():
                self.hold(self._log_bytes)
        return self.was_short

    def _is_full(self) -> bool:
        try:
            disk = os.statvfs(self._journal.parent)
        except OSError:
            return False
        return disk.f_bavail * disk.f_frsize < _MIN_ROOM_BYTES

    def release(self) -> None:
        """Gives the space back, except the file `reserve`. SQLite must have closed the journal before."""
        for path, fd in self._descriptors.items():
            with suppress(OSError):
                if path == self._journal:
                    os.ftruncate(fd, os.fstat(fd).st_size)
            os.close(fd)
        self._descriptors = {}

    def give_up(self) -> bool:
        """Removes the file `reserve`, for a caller that uses its space at once. False if there is none."""
        try:
            self._spare.unlink()
        except OSError:
            return False
        return True

    def _take(self, file: Path, end: int, room: int) -> None:
        """Reserves space beyond the end of a file. If the disk has less, reserves a part and raises
        OSError."""
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
