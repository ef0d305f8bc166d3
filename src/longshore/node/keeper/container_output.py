"""The pipes that a container writes to and the keeper reads from, and its terminal.

The container's end is also open for reading, so the pipe always has a reader: when the keeper dies, the
container gets no SIGPIPE, but at most waits until the next keeper opens the pipe again through /proc.
Standard output and error share one pipe, which keeps their lines in order; both are logged as stdout. A
container with separate streams has a second pipe. A terminal is opened in the container's namespaces, with
walls in its own /dev/pts.
"""

from __future__ import annotations

import os

from longshore.node.keeper import linux
from longshore.node.keeper.container_records import ContainerRecord
from longshore.node.keeper.logfile import LogFile

TYPE_CHECKING = False

if TYPE_CHECKING:
    from longshore.node.keeper.walls.users import Identity


_CHUNK_BYTES = 1 << 16
_MAX_DRAINED_BYTES = 1 << 20  # bytes read after the end, at most: a process may keep writing


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
        return os.read(pipe, _CHUNK_BYTES)
    except BlockingIOError:
        return None
    except OSError:
        return b""  # a terminal says its end by EIO


def drain(entry: ContainerRecord, pipe: int, log: LogFile) -> bool:
    """Logs the remaining output of an ended container. False if other processes still hold it open."""
    total = 0
    while total < _MAX_DRAINED_BYTES:
        data = read(pipe)
        if data is None:
            return False
        if not data:
            return True
        take(entry, log, data)
        total += len(data)
    return False


def take(entry: ContainerRecord, log: LogFile, data: bytes) -> None:
    """Logs the data, and sends it to attached sessions."""
    log.feed(data)
    for listener in entry.listeners:
        listener(data)


def open_terminal(entry: ContainerRecord, identity: Identity | None) -> tuple[int, str]:
    """Opens a terminal. Returns its master, and the path of its slave, which belongs to the container's user.
    A container with walls could replace /dev/ptmx, but not /dev/pts/ptmx."""
    near, number = linux.open_terminal("/dev/ptmx" if entry.pid_namespace is None else "/dev/pts/ptmx")
    path = f"/dev/pts/{number}"
    try:
        if identity is not None:
            os.chown(path, identity[0], -1)
    except OSError:
        os.close(near)
        raise
    return near, path
