"""Notices whether a container changed a directory that was made for it in memory, such as its /dev.

The next container may reuse such a directory only if it is unchanged. Changes are found by inotify: a count
of files misses a replaced file, and timestamps are too coarse for a short container. A directory behind an
overlay cannot be watched; a change there takes memory, so its free memory is compared.
"""

from __future__ import annotations

import contextlib
import os

from longshore.node.keeper import linux

_HEAD_BYTES = 16
"""An event: the number of the watch, what happened, a cookie, the length of the name that follows."""
_READ_BYTES = 1 << 16


class Marks:
    """The watches and amounts by which changes of some directories are noticed."""

    __slots__ = ("memories", "watches")

    def __init__(self) -> None:
        self.watches: set[int] = set()
        self.memories: list[tuple[int, tuple[int, int]]] = []
        """Directories behind an overlay, each with the free files and blocks of its memory."""


class DirectoryChanges:
    def __init__(self) -> None:
        try:
            self._events = linux.watching()
        except OSError:
            self._events = -1  # the user's limit of inotify is reached: no change can be noticed
        self._watched: set[int] = set()
        self._changed: set[int] = set()

    def mark(self, directories: list[str], overlaid: list[str]) -> Marks | None:
        """Starts to notice changes. Returns marks for the other methods, or None if that is impossible."""
        if self._events < 0:
            return None
        marks = Marks()
        try:
            for path in directories:
                marks.watches.add(linux.watch(self._events, path))
            for path in overlaid:
                fd = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
                marks.memories.append((fd, _free(fd)))
        except OSError:
            self.forget(marks)
            return None
        self._watched |= marks.watches
        return marks

    def is_changed(self, marks: Marks) -> bool:
        """Whether the directories changed before the last `hear`."""
        return not self._changed.isdisjoint(marks.watches) or any(
            _free(fd) != free for fd, free in marks.memories
        )

    def renew(self, marks: Marks) -> None:
        """Forgets changes up to now. Call it when the directories are known to be unchanged."""
        self._changed -= marks.watches

    def forget(self, marks: Marks) -> None:
        for number in marks.watches:
            with contextlib.suppress(OSError):  # it went with its directory
                linux.unwatch(self._events, number)
        self._watched -= marks.watches
        self._changed -= marks.watches
        for fd, _ in marks.memories:
            os.close(fd)

    def hear(self) -> None:
        """Reads the events of inotify up to now."""
        while self._events >= 0:
            try:
                data = os.read(self._events, _READ_BYTES)
            except BlockingIOError:
                return
            at = 0
            while at < len(data):
                number = int.from_bytes(data[at : at + 4], "little", signed=True)
                # Events of a forgotten directory may still arrive; -1 says that some were lost.
                self._changed |= self._watched if number < 0 else self._watched & {number}
                at += _HEAD_BYTES + int.from_bytes(data[at + 12 : at + 16], "little")


def _free(directory: int) -> tuple[int, int]:
    found = os.fstatvfs(directory)
    return found.f_ffree, found.f_bfree
