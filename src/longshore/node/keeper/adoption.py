"""Adopts containers that an earlier keeper started and did not see end.

Containers that still run are watched by pidfd. This keeper is not their parent, so it cannot wait for their
exit code, but may read it: in /proc until their parent has reaped them, and by pidfd afterwards (Linux 6.15).
If neither source has the code, the container is `lost`. No container is started again. If a record has an
intent but no start, its process is looked for by tag: the earlier keeper may have died in between.
"""

from __future__ import annotations

import fcntl
import os
import stat

from longshore.node.keeper import procfs
from longshore.node.keeper.container_records import ContainerRecord

_PIDFD_GET_INFO = 0xC040FF0B  # _IOWR(0xFF, 11, 64 bytes)
_INFO_EXIT = 1 << 3
_INFO_SIZE = 64
_SAME_START = 10 * procfs.TICKS
"""Clock ticks by which a recorded start may be late. No pid is reused by another session that soon."""


def survivors(entries: list[ContainerRecord]) -> tuple[list[ContainerRecord], list[ContainerRecord]]:
    """The containers that run, with pid, start and pidfd filled in, and those that do not."""
    alive: list[ContainerRecord] = []
    gone: list[ContainerRecord] = []
    tags: dict[str, list[int]] | None = None
    for entry in entries:
        if not entry.pid:
            if tags is None:
                tags = procfs.tagged()
            if pids := tags.get(entry.tag):
                entry.pid = pids[0]
                entry.ticks = procfs.start_ticks(entry.pid)
                entry.started_at = entry.intended_at
        (alive if entry.pid and _watch(entry) else gone).append(entry)
    return alive, gone


def _watch(entry: ContainerRecord) -> bool:
    """Watches the container's process, also an ended one for its exit code. False if its pid was reused."""
    try:
        pidfd = os.pidfd_open(entry.pid)
    except OSError:
        return False
    fields = procfs.stat(entry.pid)
    same = fields and abs(int(fields[19]) - entry.ticks) <= _SAME_START
    if not same or (int(fields[3]) != entry.pid and procfs.tag_of(entry.pid) != entry.tag):
        os.close(pidfd)
        return False
    entry.pidfd = pidfd
    entry.adopted = True
    entry.phase = "running"
    return True


def first_process(pid: int) -> tuple[int, int]:
    """The first process of a container's PID namespace and its start, for a container whose keeper died
    before it recorded them; zeros if it has no PID namespace of its own."""
    try:
        wanted = os.readlink(f"/proc/{pid}/ns/pid")
        if wanted == os.readlink("/proc/self/ns/pid"):
            return 0, 0
    except OSError:
        return 0, 0
    for other in procfs.everyone():
        try:
            is_there = os.readlink(f"/proc/{other}/ns/pid") == wanted
        except OSError:
            continue
        if is_there and _pid_within(other) == b"1":
            return other, procfs.start_ticks(other)
    return 0, 0


def _pid_within(pid: int) -> bytes:
    """The pid of a process in the innermost of its PID namespaces."""
    for line in procfs.read(f"/proc/{pid}/status").splitlines():
        if line.startswith(b"NSpid:"):
            return line.split()[-1]
    return b""


def reopen_output(entry: ContainerRecord) -> None:
    """Opens the reading ends of the pipes of the container's output. The container holds both ends itself
    (container_output.py): no output was lost, and a full pipe made the container wait."""
    entry.pipe = _reopened(entry.pid, entry.pipe_inode)
    if entry.error_inode:
        entry.error_pipe = _reopened(entry.pid, entry.error_inode)


def _reopened(pid: int, inode: int) -> int:
    """The reading end of the pipe with this inode, or -1."""
    for number in (1, 2):
        try:
            fd = os.open(f"/proc/{pid}/fd/{number}", os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        except OSError:
            continue
        found = os.fstat(fd)
        if stat.S_ISFIFO(found.st_mode) and found.st_ino == inode:
            return fd
        os.close(fd)
    return -1


def exit_status(entry: ContainerRecord) -> int | None:
    """The `wait` status of an ended process that is not our child; None if not known (yet)."""
    info = bytearray(_INFO_SIZE)
    info[0:8] = _INFO_EXIT.to_bytes(8, "little")
    try:
        fcntl.ioctl(entry.pidfd, _PIDFD_GET_INFO, info)
    except OSError:
        pass  # an older kernel
    else:
        if int.from_bytes(info[0:8], "little") & _INFO_EXIT:
            return int.from_bytes(info[60:64], "little", signed=True)
    fields = procfs.stat(entry.pid)
    if fields and fields[0] == b"Z" and abs(int(fields[19]) - entry.ticks) <= _SAME_START:
        return int(fields[-1])
    return None
