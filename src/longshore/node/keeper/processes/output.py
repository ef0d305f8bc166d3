"""The pipe a container writes to, and the keeper reads from.

The container's end is opened for reading too. So it never meets a pipe without readers: when the keeper dies
it is not killed by SIGPIPE but waits, at most, until the next keeper opens the pipe again through /proc.
Standard output and error share it, which keeps their lines in order; both are logged as stdout. A container
whose streams are to be told apart has a second pipe.
"""

from __future__ import annotations

import os

from longshore.node.keeper.records.entry import Entry
from longshore.node.keeper.records.logfile import LogFile

_CHUNK = 1 << 16
_DRAIN = 1 << 20  # what may still be read after the end; somebody who keeps writing must not hold it up


def open_pipe() -> tuple[int, int, int]:
    """A new pipe: our end, the container's end, and the inode."""
    pipe, write = os.pipe2(os.O_CLOEXEC | os.O_NONBLOCK)
    try:
        both = os.open(f"/proc/self/fd/{write}", os.O_RDWR | os.O_CLOEXEC)
    finally:
        os.close(write)
    return pipe, both, os.fstat(both).st_ino


def read(pipe: int) -> bytes | None:
    """The output available now: b"" at the end, None when there is none yet."""
    try:
        return os.read(pipe, _CHUNK)
    except BlockingIOError:
        return None
    except OSError:
        return b""  # a terminal says its end by EIO


def drain(entry: Entry, pipe: int, log: LogFile) -> bool:
    """Logs what is left of an ended container. False if others still hold its output open."""
    total = 0
    while total < _DRAIN:
        data = read(pipe)
        if data is None:
            return False
        if not data:
            return True
        take(entry, log, data)
        total += len(data)
    return False


def take(entry: Entry, log: LogFile, data: bytes) -> None:
    """Logs it, and shows it to those who are attached."""
    log.feed(data)
    for listener in entry.listeners:
        listener(data)
