"""Facts of processes from /proc: when one started, its descendants, the container it belongs to.

A container's processes are found in three ways, because no single way finds all: the process group of its
first process, the tree of children under it, and the tag in the environment of those whose parents have died.
"""

from __future__ import annotations

import os

KEY = "LONGSHORE_CONTAINER"
"""The variable that names the key of the container a process belongs to."""
HOME = "LONGSHORE_KEEPER"
"""The variable with the id of the directory whose keeper started the process. If a directory is copied, two
keepers know containers of the same key."""

PAGE = os.sysconf("SC_PAGE_SIZE")
TICKS = os.sysconf("SC_CLK_TCK")


def read(path: str) -> bytes:
    """A small file of /proc, or nothing if the process has gone."""
    try:
        fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return b""
    try:
        data = os.read(fd, 65536)
        while len(data) % 4096 == 0 and (more := os.read(fd, 65536)):
            data += more
        return data
    except OSError:
        return b""
    finally:
        os.close(fd)


def stat(pid: int) -> list[bytes]:
    """The fields of /proc/PID/stat from the state on (index 0), or [] if it has gone."""
    return read(f"/proc/{pid}/stat").rpartition(b")")[2].split()


def start_ticks(pid: int) -> int:
    """The start of a process, which with its pid identifies it until a reboot; 0 if it has ended."""
    fields = stat(pid)
    return int(fields[19]) if fields and fields[0] not in b"ZX" else 0


def tag(home: str, key: str) -> str:
    """A container's key and its keeper's id in one text."""
    return f"{key}@{home}"


def tag_of(pid: int) -> str:
    """The tag in its environment, or ""."""
    key = home = ""
    for entry in read(f"/proc/{pid}/environ").split(b"\0"):
        if entry.startswith(b"LONGSHORE_CONTAINER="):
            key = entry[20:].decode(errors="replace")
        elif entry.startswith(b"LONGSHORE_KEEPER="):
            home = entry[17:].decode(errors="replace")
    return tag(home, key) if key else ""


def everyone() -> list[int]:
    return [int(name) for name in os.listdir("/proc") if name.isdigit()]


def own_children() -> set[int] | None:
    """The children of this process, zombies among them. None if the kernel keeps no list.

    No child is missed: a child leaves the list when it is reaped, and only this thread reaps."""
    return children(os.getpid())


class ProcessSnapshot:
    """All living processes at one moment. One walk serves all containers that are looked at together."""

    def __init__(self) -> None:
        self._below: dict[int, list[int]] = {}
        self._session: dict[int, list[int]] = {}
        self.fields: dict[int, list[bytes]] = {}
        for pid in everyone():
            fields = stat(pid)
            if not fields or fields[0] in b"ZX":
                continue
            self.fields[pid] = fields
            self._below.setdefault(int(fields[1]), []).append(pid)
            self._session.setdefault(int(fields[3]), []).append(pid)

    def members(self, pid: int, first: int = 0) -> set[int]:
        """The processes of a container, by the pid of its command: the command's session and all descendants.
        A process with a new session whose parent died is missed, unless the container's PID namespace has a
        `first` process, which becomes its parent."""
        found: set[int] = set()
        look = [*self._session.get(pid, ()), pid, *(self._below.get(first, ()) if first else ())]
        while look:
            one = look.pop()
            if one not in found:
                found.add(one)
                look += self._below.get(one, ())
        if pid not in self.fields:
            found.discard(pid)
        return found

    def children(self, pid: int) -> list[int]:
        return self._below.get(pid, [])


def tagged() -> dict[str, list[int]]:
    """All living processes with a tag, by tag, in the order of their start."""
    found: dict[str, list[tuple[int, int]]] = {}
    for pid in everyone():
        carried = tag_of(pid)
        if carried and (ticks := start_ticks(pid)):
            found.setdefault(carried, []).append((ticks, pid))
    return {carried: [pid for _, pid in sorted(pids)] for carried, pids in found.items()}


def name(pid: int) -> str:
    """The name that `ps` shows, or "" if it has gone."""
    return read(f"/proc/{pid}/comm").decode(errors="replace").rstrip("\n")


def children(pid: int) -> set[int] | None:
    """The children of a process with one thread, zombies among them; None where the kernel keeps no list."""
    fd = open_children(pid)
    if fd < 0:
        return None
    with os.fdopen(fd, "rb") as file:
        return {int(found) for found in file.read().split()}


def open_children(pid: int) -> int:
    """The list of its children, to be read from the beginning at any time; -1 where the kernel keeps none."""
    try:
        return os.open(f"/proc/{pid}/task/{pid}/children", os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return -1
