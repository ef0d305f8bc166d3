"""Whether the disk that pods write to is nearly full.

The node says so in its `DiskPressure` condition and takes no new pods meanwhile (a taint). Pods that run go
on: none is evicted. The threshold is much lower than a kubelet's 10 %, because people work on disks that are
90 % full.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Final

import msgspec

_MIN_BYTES: Final = 256 << 20
_MIN_SHARE: Final = 0.05
"""The share of a small disk that must be free instead."""
_MIN_FILES: Final = 1000
_RELIEF_FACTOR: Final = 2
"""The pressure ends when this multiple of the threshold is free."""


class Free(msgspec.Struct, frozen=True):
    """The free room of a disk."""

    bytes: int
    of: int
    files: int | None = None
    """None if the file system does not count files."""


def free_on(directory: Path) -> Free | None:
    """The free space of the disk under a directory; None if it cannot be read."""
    try:
        disk = os.statvfs(directory)
    except OSError:
        return None
    files = disk.f_favail if disk.f_files else None
    return Free(disk.f_bavail * disk.f_frsize, disk.f_blocks * disk.f_frsize, files)


class DiskPressure:
    """Compares the free space that `look` returns with the threshold."""

    def __init__(self, look: Callable[[], Free | None]) -> None:
        self._look = look
        self.is_on = False
        """Whether the disk was nearly full at the last `check`."""

    def check(self) -> bool:
        """Looks at the disk; returns whether `is_on` has changed."""
        before, found = self.is_on, self._look()
        if found is not None:
            times = _RELIEF_FACTOR if before else 1
            least = min(_MIN_BYTES, int(found.of * _MIN_SHARE)) * times
            few_files = found.files is not None and found.files < _MIN_FILES * times
            self.is_on = found.bytes < least or few_files
        return self.is_on != before
