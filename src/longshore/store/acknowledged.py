"""Remembers, beside the journal, the last revision that was acknowledged.

A damaged write-ahead log looks to SQLite like an unfinished last write: it drops the rest without a
word. With this mark we can tell. It is eight bytes in the page cache, written after each commit and
never synced: it outlives `kill -9` for the price of a system call. After a power cut the journal may
rightly be behind it (durability `normal`), which the machine's boot id tells apart.
"""

from __future__ import annotations

import os
import struct
from pathlib import Path

from longshore.store.errors import JournalCorrupt

_REVISION_FORMAT = struct.Struct("<q")
_BOOT_ID_FILE = Path("/proc/sys/kernel/random/boot_id")
_BOOT_ID_BYTES = 36
_ANY_BOOT = b"*" * _BOOT_ID_BYTES
_UNKNOWN_BOOT = b"?" * _BOOT_ID_BYTES


class Acknowledged:
    """The mark of one data directory. `revision` is the one found at opening, 0 without a mark."""

    def __init__(self, file: Path) -> None:
        self._file = file
        self._fd = os.open(file, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        found = os.pread(self._fd, _REVISION_FORMAT.size + _BOOT_ID_BYTES, 0)
        whole = len(found) == _REVISION_FORMAT.size + _BOOT_ID_BYTES
        self.revision: int = _REVISION_FORMAT.unpack_from(found)[0] if whole else 0
        self._boot = found[_REVISION_FORMAT.size :]

    def check(self, journal: Path, revision: int) -> None:
        """Refuses a journal that ends before the mark when nothing but damage explains it."""
        held_to_it = self._boot == _ANY_BOOT or self._boot == _this_boot() != _UNKNOWN_BOOT
        if revision < self.revision and held_to_it:
            raise JournalCorrupt(
                journal,
                f"it ends at revision {revision}, but {self.revision} was acknowledged; "
                f"if you put an older copy there on purpose, delete {self._file}",
            )

    def begin(self, revision: int, *, survives_power_loss: bool) -> None:
        """Starts a run at this revision. Where every commit is synced before its mark, the next
        opening holds the journal to the mark after a power cut too."""
        boot = _ANY_BOOT if survives_power_loss else _this_boot()
        os.pwrite(self._fd, _REVISION_FORMAT.pack(revision) + boot, 0)

    def note(self, revision: int) -> None:
        """Moves the mark."""
        os.pwrite(self._fd, _REVISION_FORMAT.pack(revision), 0)

    def close(self) -> None:
        os.close(self._fd)


def revision_of(file: Path) -> int:
    """The revision in a mark; 0 without one."""
    if not file.exists():
        return 0
    mark = Acknowledged(file)
    mark.close()
    return mark.revision


def go_on_after(file: Path, revision: int) -> None:
    """Makes a mark for an older journal that was put there on purpose: no revision up to this one is used
    again, and whoever saw them has to list afresh."""
    beside = file.with_name(f"{file.name}.new")
    beside.write_bytes(_REVISION_FORMAT.pack(revision) + _UNKNOWN_BOOT)
    beside.chmod(0o600)
    os.replace(beside, file)


def _this_boot() -> bytes:
    try:
        boot = _BOOT_ID_FILE.read_bytes().strip()
    except OSError:  # not Linux: then the mark tells nothing under durability `normal`
        return _UNKNOWN_BOOT
    return boot if len(boot) == _BOOT_ID_BYTES else _UNKNOWN_BOOT
