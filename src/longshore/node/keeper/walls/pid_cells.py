"""Cells: a PID namespace each, with its first process and the mounts of the container that lives in it.

A cell is made by the nursery, and one is always ordered ahead. A container that leaves its cell as it found
it (nobody in it, nothing in its /tmp and /dev/shm, no trace elsewhere) leaves it to the next one with the
same mounts: there are as many cells as containers at a time. Any other cell ends with its container, and the
kernel ends all in it.
"""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import time

from longshore.node.keeper.processes import procfs
from longshore.node.keeper.walls import nursery
from longshore.node.keeper.walls.traces import Traces

TYPE_CHECKING = False
if TYPE_CHECKING:
    from longshore.node.keeper.walls.ipc_spaces import IpcSpace
    from longshore.node.keeper.walls.nursery import Nursery
    from longshore.node.keeper.walls.traces import Marks

_MAX_FREE = 64


class Cell:
    __slots__ = (
        "_children",
        "_memory_used",
        "control",
        "first",
        "first_ticks",
        "hostname",
        "ipc",
        "is_shared",
        "key",
        "marks",
        "message_file",
        "mounts",
        "pidfd",
        "proc",
        "shared_memory",
        "since",
        "tmp",
        "tmp_marks",
        "users",
    )

    def __init__(self, first: int, control: socket.socket | None, proc: int) -> None:
        self.first = first
        """The pid of its first process."""
        self.pidfd = os.pidfd_open(first)
        self.first_ticks = procfs.start_ticks(first)
        self._children = procfs.open_children(first)
        self.control = control
        """Held open as long as the keeper is there."""
        self.proc = proc
        """A /proc to be mounted, or -1 when it is."""
        self.mounts = -1
        """The mount namespace, once there is one that the next container may have too."""
        self.key: object = None
        """The identity of its mounts."""
        self.ipc: IpcSpace | None = None
        """The IPC namespace, if the next container may have that too."""
        self.marks: Marks | None = None
        """By which changes of its directories in memory are noticed; None where they are not."""
        self.message_file = ""
        self.shared_memory = -1
        self._memory_used = 0
        self.tmp = ""
        """The directory of its /tmp, or "" if it sees the machine's."""
        self.tmp_marks: Marks | None = None
        """By which a change of that is noticed; None where it is not."""
        self.is_shared = False
        """Whether another cell has its IPC and shared memory."""
        self.hostname = ""
        self.users = 0
        """Containers in it: several where a pod shares its processes."""
        self.since = 0.0

    def furnished(self, shared_memory: int) -> None:
        """Takes note of its own /dev/shm, which is empty now; -1 where it has none."""
        self.shared_memory = shared_memory
        if shared_memory >= 0:
            self._memory_used = _files(shared_memory)

    def is_alive(self) -> bool:
        """Only of a cell that this keeper made, whose first process is its child."""
        try:
            return os.waitid(os.P_PIDFD, self.pidfd, os.WEXITED | os.WNOHANG | os.WNOWAIT) is None
        except ChildProcessError:
            return False

    def is_as_new(self) -> bool:
        try:
            if self.mounts < 0 or self.is_shared or self._children < 0 or os.pread(self._children, 1, 0):
                return False
            if self.ipc is not None and not self.ipc.is_empty():
                self.ipc.close()
                self.ipc = None
        except OSError:
            return False
        return self.shared_memory < 0 or _files(self.shared_memory) == self._memory_used

    def close(self) -> None:
        """Ends all that is in it."""
        with contextlib.suppress(OSError):
            signal.pidfd_send_signal(self.pidfd, signal.SIGKILL)
        self.let_go()

    def let_go(self) -> None:
        """Closes what the keeper holds of it."""
        for fd in (self.pidfd, self.proc, self.mounts, self.shared_memory, self._children):
            if fd >= 0:
                os.close(fd)
        self.pidfd = self.proc = self.mounts = self.shared_memory = self._children = -1
        if self.ipc is not None:
            self.ipc.close()
            self.ipc = None
        if self.control is not None:
            self.control.close()


def _files(directory: int) -> int:
    found = os.fstatvfs(directory)
    return found.f_files - found.f_ffree


class Cells:
    """`directory` is for their /tmp."""

    def __init__(self, directory: str, nursery: Nursery) -> None:
        self._directory = directory
        self._nursery = nursery
        self._ordered: socket.socket | None = None
        self._ready: list[Cell] = []
        self._free: dict[object, list[Cell]] = {}
        self._firsts: set[int] = set()
        self.traces = Traces()
        self._clear()

    def problem(self) -> str:
        """Why there can be none here, or "". Makes the first one."""
        try:
            self._ready.append(self.new())
        except OSError as error:
            return str(error)
        return ""

    def new(self, *, network: bool = False) -> Cell:
        """Raises OSError where the system has none to give."""
        if self._ready and not network:
            return self._ready.pop()
        ordered, self._ordered = self._ordered, None
        if network:
            self._ordered, ordered = ordered, None
        cell = self._received(ordered or self._nursery.order_room(network=network))
        if self._ordered is None:
            self._ordered = self._nursery.order_room(network=False)
        return cell

    def _received(self, sock: socket.socket) -> Cell:
        try:
            first, proc = nursery.receive_room(sock)
            cell = Cell(first, sock, proc)
        except OSError:
            sock.close()
            raise
        self._firsts.add(first)
        return cell

    def first_processes(self) -> set[int]:
        """Children of the keeper that are first in a cell, the one ordered ahead among them."""
        if self._ordered is not None:
            with contextlib.suppress(OSError):
                self._ready.append(self._received(self._ordered))
            self._ordered = None
        return self._firsts

    def reaped(self, pid: int) -> None:
        self._firsts.discard(pid)

    def adopt(self, first: int, ticks: int) -> Cell | None:
        """The cell of a container that another keeper started; None if it is gone."""
        try:
            cell = Cell(first, None, -1)
        except OSError:
            return None
        if cell.first_ticks != ticks:
            cell.let_go()
            return None
        tmp = f"{self._directory}/{first}"
        cell.tmp = tmp if os.path.isdir(tmp) else ""
        return cell

    def give_tmp(self, cell: Cell) -> str:
        cell.tmp = f"{self._directory}/{cell.first}"
        os.makedirs(cell.tmp, mode=0o700)
        os.chmod(cell.tmp, 0o1777)
        cell.tmp_marks = self.traces.mark([cell.tmp], [])
        return cell.tmp

    def free_one(self, key: object) -> Cell | None:
        """One that has these mounts and nobody in it."""
        found = self._free.get(key)
        while found:
            cell = found.pop()
            if cell.is_alive():
                return cell
            self.drop(cell)
        return None

    def leave(self, cell: Cell, *, good: bool) -> bool:
        """A container has ended. Whether the cell is kept for another one."""
        cell.users -= 1
        if cell.users:
            return True
        kept = self._free.setdefault(cell.key, [])
        if good and len(kept) < _MAX_FREE and cell.is_as_new() and not self._has_traces(cell):
            cell.since = time.monotonic()
            kept.append(cell)
            return True
        if not kept:
            del self._free[cell.key]
        self.drop(cell)
        return False

    def _has_traces(self, cell: Cell) -> bool:
        self.traces.hear()
        return cell.marks is None or self.traces.is_changed(cell.marks) or self._has_files(cell)

    def _has_files(self, cell: Cell) -> bool:
        """Whether anything is in its /tmp. Unlike a trace, what was there and is gone does not count."""
        marks = cell.tmp_marks
        if not cell.tmp or (marks is not None and not self.traces.is_changed(marks)):
            return False
        try:
            if os.listdir(cell.tmp):
                return True
        except OSError:
            return True
        if marks is not None:
            self.traces.renew(marks)
        return False

    def drop(self, cell: Cell) -> None:
        cell.close()
        for marks in (cell.marks, cell.tmp_marks):
            if marks is not None:
                self.traces.forget(marks)
        if cell.tmp:
            self._nursery.remove(cell.tmp)

    @property
    def keeps_some(self) -> bool:
        return bool(self._free)

    def forget_unused(self, since: float) -> list[Cell]:
        """Ends those that nobody needed since then, and returns them."""
        gone: list[Cell] = []
        for key, cells in list(self._free.items()):
            old = [cell for cell in cells if cell.since < since]
            gone += old
            cells[:] = [cell for cell in cells if cell.since >= since]
            if not cells:
                del self._free[key]
        for cell in gone:
            self.drop(cell)
        return gone

    def _clear(self) -> None:
        """Removes what cells of an earlier keeper left that have ended."""
        os.makedirs(self._directory, mode=0o700, exist_ok=True)
        for name in os.listdir(self._directory):
            if not name.isdigit() or procfs.name(int(name)) != nursery.FIRST_NAME:
                self._nursery.remove(f"{self._directory}/{name}")
