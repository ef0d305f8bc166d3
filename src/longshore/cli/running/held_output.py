"""Output that waits for its turn: in memory while it is small, then in a file of the temporary directory.

A file is open only while it is written or read, so that thousands of outputs may wait.
"""

from __future__ import annotations

import contextlib
import os
import tempfile
from collections.abc import Callable
from typing import Final

_MAX_MEMORY_BYTES: Final = 1 << 16


class HeldOutput:
    """Takes lines, and hands them to `show` from its release on. Where the temporary directory cannot hold
    them, it says so in their place, and is `broken`."""

    def __init__(self, show: Callable[[bytes], None]) -> None:
        self._show = show
        self._lines: list[bytes] = []
        self._bytes = 0
        self._file = ""
        self._released = False
        self.broken = False

    def write(self, line: bytes) -> None:
        if self._released:
            self._show(line)
            return
        self._lines.append(line)
        self._bytes += len(line)
        if self._bytes > _MAX_MEMORY_BYTES:
            self._put_down()

    def release(self) -> None:
        """Shows what has come so far. What comes later is shown at once."""
        self._released = True
        try:
            if self._file:
                with open(self._file, "rb") as file:
                    for line in file:
                        self._show(line)
        except OSError as err:
            self._lose(err)
        lines, self._lines = self._lines, []
        for line in lines:
            self._show(line)
        self.forget()

    def forget(self) -> None:
        """Removes the file."""
        if self._file:
            with contextlib.suppress(OSError):
                os.unlink(self._file)
            self._file = ""

    def _put_down(self) -> None:
        lines, self._lines, self._bytes = self._lines, [], 0
        if self.broken:
            return
        try:
            if not self._file:
                handle, self._file = tempfile.mkstemp(prefix="longshore-output-")
                os.close(handle)
            with open(self._file, "ab") as file:
                file.writelines(lines)
        except OSError as err:
            self._lose(err)

    def _lose(self, err: OSError) -> None:
        self.broken = True
        self._lines.append(f"(output was lost, as it could not be kept for its turn: {err})\n".encode())
