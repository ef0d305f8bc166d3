"""`--keep-order`: decides whose output is printed now. Indexes take turns, from 0 up.

A turn ends when the last pod of its index has ended and all its output is printed. An index without any pod
keeps the others waiting until the run has ended.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import tempfile
from collections import Counter
from collections.abc import Callable
from typing import Final


class Turns:
    def __init__(self) -> None:
        self._now = 0
        self._writers: Counter[int] = Counter()
        """Logs of each index that are not yet printed."""
        self._left = 0
        """Logs that are not yet printed, of all indexes."""
        self._over: set[int] = set()
        self._all_over = False
        self._waiting: dict[int, list[asyncio.Future[None]]] = {}

    def add(self, index: int) -> asyncio.Future[None]:
        """Adds a log of this index; the returned future is done when its turn comes."""
        turn = asyncio.get_running_loop().create_future()
        self._writers[index] += 1
        self._left += 1
        self._waiting.setdefault(index, []).append(turn)
        self._call()
        return turn

    def printed(self, index: int) -> None:
        """Notes that a log of this index, whose turn it is, has been printed."""
        self._writers[index] -= 1
        self._left -= 1
        self._waiting[index].pop(0)
        self._call()

    def over(self, index: int) -> None:
        """Notes that this index will have no further pod."""
        self._over.add(index)
        self._call()

    def all_over(self) -> None:
        """Notes that there will be no further pod at all."""
        self._all_over = True
        self._call()

    def _call(self) -> None:
        """Wakes the next log in line."""
        while not self._writers[self._now] and (self._now in self._over or (self._all_over and self._left)):
            self._waiting.pop(self._now, None)
            self._over.discard(self._now)
            del self._writers[self._now]
            self._now += 1
        waiting = self._waiting.get(self._now)
        if waiting and not waiting[0].done():
            waiting[0].set_result(None)


# Output that waits for its turn: in memory while it is small, then in a file of the temporary directory.
#
# A file is open only while it is written or read, so that thousands of outputs may wait.

_MAX_MEMORY_BYTES: Final = 1 << 16


class HeldOutput:
    """Takes lines, and passes them to `show` once released. If the temporary directory cannot hold them, it
    prints a note in their place, and is `broken`."""

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
        """Shows the lines that have come so far; later lines are shown at once."""
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
