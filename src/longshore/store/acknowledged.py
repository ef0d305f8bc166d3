"""Remembers, beside the journal, the last revision that was acknowledged.

SQLite takes a damaged write-ahead log for an unfinished last write and drops the rest silently. This mark
shows such a loss. Its revision is eight bytes in the page cache, written after each commit and never synced:
it survives `kill -9` and costs one system call. After a power cut the journal may be behind the mark
(durability `normal`); the boot id shows whether there was one.
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
        """Raises `JournalCorrupt` if the journal ends before the mark and no power cut explains that."""
        held_to_it = self._boot == _ANY_BOOT or self._boot == _this_boot() != _UNKNOWN_BOOT
        if revision < self.revision and held_to_it:
            raise JournalCorrupt(
                journal,
                f"it ends at revision {revision}, but {self.revision} was acknowledged; "
                f"if you put an older copy there on purpose, delete {self._file}",
            )

    def begin(self, revision: int, *, survives_power_loss: bool) -> None:
        """Starts a run at this revision. If every commit is synced before its mark, the next opening checks
        the journal against the mark even after a power cut."""
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
    """Writes the mark for an older journal that is restored on purpose. Revisions up to this one are not
    reused, and clients that saw them must list again."""
    beside = file.with_name(f"{file.name}.new")
    beside.write_bytes(_REVISION_FORMAT.pack(revision) + _UNKNOWN_BOOT)
    beside.chmod(0o600)
    os.replace(beside, file)


def _this_boot() -> bytes:
    try:
        boot = _BOOT_ID_FILE.read_bytes().strip()
    except OSError:  # not Linux: under durability `normal` the mark is not checked
        return _UNKNOWN_BOOT
    return boot if len(boot) == _BOOT_ID_BYTES else _UNKNOWN_BOOT
