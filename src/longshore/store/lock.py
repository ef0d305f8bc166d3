"""Locks a data directory for one process. The lock ends with the process, however the process ends.

The lock file stays: if it were removed while another process waits for it, two processes could get in.
"""

from __future__ import annotations

import fcntl
import os
from pathlib import Path

from longshore.store.errors import DataDirBusy


class DataDirLock:
    """A lock on the directory, held from construction to `release`."""

    def __init__(self, directory: Path) -> None:
        self._fd = os.open(directory / "lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(self._fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            holder = os.pread(self._fd, 32, 0).strip()
            os.close(self._fd)
            raise DataDirBusy(directory, int(holder) if holder.isdigit() else None) from None
        os.ftruncate(self._fd, 0)
        os.pwrite(self._fd, b"%d\n" % os.getpid(), 0)

    def release(self) -> None:
        os.close(self._fd)
