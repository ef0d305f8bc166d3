"""Whether the disk that pods write to is nearly full.

The node says so in its `DiskPressure` condition and takes no new pods meanwhile (a taint). What runs goes on:
nobody is evicted. The line is drawn much lower than a kubelet's 10 %, since people work on disks like that.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Final

import msgspec

_MIN_BYTES: Final = 256 << 20
_MIN_SHARE: Final = 0.05
"""Of a small disk this part of it instead."""
_MIN_FILES: Final = 1000
_RELIEF: Final = 2
"""So many times as much must be free before it counts as enough again."""


class Free(msgspec.Struct, frozen=True):
    """The free room of a disk."""

    bytes: int
    of: int
    files: int | None = None
    """None where a file system does not count them."""


def free_on(directory: Path) -> Free | None:
    """None if it cannot be told."""
    try:
        disk = os.statvfs(directory)
    except OSError:
        return None
    files = disk.f_favail if disk.f_files else None
    return Free(disk.f_bavail * disk.f_frsize, disk.f_blocks * disk.f_frsize, files)


class DiskPressure:
    """`look` asks for the free room."""

    def __init__(self, look: Callable[[], Free | None]) -> None:
        self._look = look
        self.is_on = False
        """Whether the disk was nearly full at the last `check`."""

    def check(self) -> bool:
        """Looks at the disk; whether anything has changed."""
        before, found = self.is_on, self._look()
        if found is not None:
            times = _RELIEF if before else 1
            least = min(_MIN_BYTES, int(found.of * _MIN_SHARE)) * times
            few_files = found.files is not None and found.files < _MIN_FILES * times
            self.is_on = found.bytes < least or few_files
        return self.is_on != before
