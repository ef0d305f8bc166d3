"""The keeper's records on disk: a line per event, written before the event is reported.

    boot     BOOT-ID                                     the machine these lines speak of
    home     ID DEVICE INODE                             the directory they were written in, by its own name
    intent   KEY TIME LOG MEMORY TERMINATION-MESSAGE [whole-log]
                                                         about to start it; never again after this line
    started  KEY PID START-TICKS TIME PIPE MESSAGE-FILE [ERROR-PIPE] [first=PID:START-TICKS]
                                                         runs
    pod      POD PID START-TICKS                         this process holds namespaces of the pod's containers
    exited   KEY TIME CODE SIGNAL REASON MESSAGE         ended
    lost     KEY TIME MESSAGE                            ended, with unknown exit code
    removed  KEY                                         forgotten, or not started after all

Fields are separated by tabs, with tabs, line ends and backslashes escaped. A write is one system call that
reaches the kernel, so it survives the death of any process. It is not forced to the disk: after a power cut
the last moments may be missing, and then no container runs any more either.
"""

from __future__ import annotations

import contextlib
import errno
import os
from collections.abc import Iterable, Iterator

from longshore.node.keeper import linux

_ROOM_BYTES = 256 << 10  # disk space reserved for the ends of containers on a full disk
_MIN_COMPACTED_BYTES = 4 << 20  # bytes; below this rewriting saves nothing worth the while


def escape(text: str) -> str:
    return text.encode("unicode_escape").decode("ascii")


def unescape(text: str) -> str:
    return text.encode("ascii").decode("unicode_escape")


def line(*fields: object) -> str:
    """The line of one event; the caller escapes free text."""
    return "\t".join(map(str, fields)) + "\n"


def boot_id() -> str:
    with open("/proc/sys/kernel/random/boot_id") as file:
        return file.read().strip()


class Journal:
    def __init__(self, path: str) -> None:
        self._path = path
        self._fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
        self._size = os.fstat(self._fd).st_size
        self._compacted = 0
        self._room = 0
        """The length of the file up to which disk space is reserved."""
        self._keep_room()

    def read(self) -> Iterator[list[str]]:
        """All events, from the first. A last line cut off by a full disk or a crash is no event."""
        with open(self._path, encoding="ascii", errors="replace", newline="\n") as file:
            for text in file:
                if text.endswith("\n"):
                    yield text[:-1].split("\t")

    def write(self, lines: Iterable[str]) -> None:
        """Appends all lines or none. Raises OSError when the disk is full."""
        data = "".join(lines).encode("ascii")
        try:
            if os.write(self._fd, data) != len(data):
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), self._path)
        except OSError:
            os.ftruncate(self._fd, self._size)
            self._keep_room()
            raise
        self._size += len(data)
        if self._size > self._room - _ROOM_BYTES // 2:
            self._keep_room()

    def is_large(self) -> bool:
        return self._size > max(_MIN_COMPACTED_BYTES, 4 * self._compacted)

    def rewrite(self, lines: Iterable[str]) -> None:
        """Replaces the journal by these lines. The old one stays until the new one is complete; if the disk
        has no room for the new one, raises OSError."""
        new = self._path + ".new"
        fd = os.open(new, os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND | os.O_CLOEXEC, 0o600)
        data = "".join(lines).encode("ascii")
        try:
            left = memoryview(data)
            while left:
                left = left[os.write(fd, left) :]
            os.fsync(fd)
            os.rename(new, self._path)
        except OSError:
            os.close(fd)
            os.unlink(new)
            raise
        os.close(self._fd)
        self._fd = fd
        self._size = self._compacted = len(data)
        self._keep_room()

    def _keep_room(self) -> None:
        """Reserves disk space beyond the end. If that fails, the next try comes after as many bytes."""
        self._room = self._size + _ROOM_BYTES
        with contextlib.suppress(OSError):
            linux.keep_room(self._fd, self._room)
