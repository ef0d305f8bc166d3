"""PID namespaces, each with its first process and the mounts of the container that lives in it.

The fork server makes them, and one is always ordered ahead. If a container leaves its namespace as it was (no
processes, /tmp and /dev/shm empty, no other directory changed), the next container with the same mounts gets
it: there are as many namespaces as containers run at a time. Any other namespace ends with its container, and
the kernel kills all processes in it.
"""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import time

from longshore.node.keeper import procfs
from longshore.node.keeper.walls import fork_server
from longshore.node.keeper.walls.directory_changes import DirectoryChanges

TYPE_CHECKING = False
if TYPE_CHECKING:
    from longshore.node.keeper.walls.directory_changes import Marks
    from longshore.node.keeper.walls.fork_server import ForkServer
    from longshore.node.keeper.walls.ipc_namespace import IpcNamespace

_MAX_FREE = 64


class PidNamespace:
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
        """The socket to its first process, open as long as the keeper runs."""
        self.proc = proc
        """A /proc that is not mounted yet, or -1."""
        self.mounts = -1
        """The mount namespace, if the next container may reuse it."""
        self.key: object = None
        """The identity of its mounts."""
        self.ipc: IpcNamespace | None = None
        """The IPC namespace, if the next container may reuse it."""
        self.marks: Marks | None = None
        """Marks that show changes of its directories in memory; None if changes cannot be noticed."""
        self.message_file = ""
        self.shared_memory = -1
        self._memory_used = 0
        self.tmp = ""
        """The directory of its /tmp, or "" if it sees the machine's."""
        self.tmp_marks: Marks | None = None
        """Marks that show changes of that directory; None if changes cannot be noticed."""
        self.is_shared = False
        """Whether another PID namespace has its IPC and shared memory."""
        self.hostname = ""
        self.users = 0
        """The number of containers in the namespace: several if a pod shares its processes."""
        self.since = 0.0

    def note_shared_memory(self, shared_memory: int) -> None:
        """Records the namespace's own /dev/shm, which is empty now; -1 if it has none."""
        self.shared_memory = shared_memory
        if shared_memory >= 0:
            self._memory_used = _files(shared_memory)

    def is_alive(self) -> bool:
        """Whether its first process runs. Only for a namespace that this keeper made."""
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
        """Kills all processes in the namespace."""
        with contextlib.suppress(OSError):
            signal.pidfd_send_signal(self.pidfd, signal.SIGKILL)
        self.let_go()

    def let_go(self) -> None:
        """Closes the keeper's descriptors of the namespace."""
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


class PidNamespaces:
    """`directory` holds their /tmp directories."""

    def __init__(self, directory: str, fork_server: ForkServer) -> None:
        self._directory = directory
        self._fork_server = fork_server
        self._ordered: socket.socket | None = None
        self._ready: list[PidNamespace] = []
        self._free: dict[object, list[PidNamespace]] = {}
        self._firsts: set[int] = set()
        self.changes = DirectoryChanges()
        self._clear()

    def problem(self) -> str:
        """Why PID namespaces cannot be used here, or "". Makes the first one."""
        try:
            self._ready.append(self.new())
        except OSError as error:
            return str(error)
        return ""

    def new(self, *, network: bool = False) -> PidNamespace:
        """A new namespace. Raises OSError if the system cannot make one."""
        if self._ready and not network:
            return self._ready.pop()
        ordered, self._ordered = self._ordered, None
        if network:
            self._ordered, ordered = ordered, None
        pid_namespace = self._received(ordered or self._fork_server.order_pid_namespace(network=network))
        if self._ordered is None:
            self._ordered = self._fork_server.order_pid_namespace(network=False)
        return pid_namespace

    def _received(self, sock: socket.socket) -> PidNamespace:
        try:
            first, proc = fork_server.receive_process(sock)
            pid_namespace = PidNamespace(first, sock, proc)
        except OSError:
            sock.close()
            raise
        self._firsts.add(first)
        return pid_namespace

    def first_processes(self) -> set[int]:
        """First processes that are children of the keeper, the one ordered ahead among them."""
        if self._ordered is not None:
            with contextlib.suppress(OSError):
                self._ready.append(self._received(self._ordered))
            self._ordered = None
        return self._firsts

    def reaped(self, pid: int) -> None:
        self._firsts.discard(pid)

    def adopt(self, first: int, ticks: int) -> PidNamespace | None:
        """The namespace of a container that another keeper started; None if it is gone."""
        try:
            pid_namespace = PidNamespace(first, None, -1)
        except OSError:
            return None
        if pid_namespace.first_ticks != ticks:
            pid_namespace.let_go()
            return None
        tmp = f"{self._directory}/{first}"
        pid_namespace.tmp = tmp if os.path.isdir(tmp) else ""
        return pid_namespace

    def give_tmp(self, pid_namespace: PidNamespace) -> str:
        pid_namespace.tmp = f"{self._directory}/{pid_namespace.first}"
        os.makedirs(pid_namespace.tmp, mode=0o700)
        os.chmod(pid_namespace.tmp, 0o1777)
        pid_namespace.tmp_marks = self.changes.mark([pid_namespace.tmp], [])
        return pid_namespace.tmp

    def free_one(self, key: object) -> PidNamespace | None:
        """A free namespace with these mounts, or None."""
        found = self._free.get(key)
        while found:
            pid_namespace = found.pop()
            if pid_namespace.is_alive():
                return pid_namespace
            self.drop(pid_namespace)
        return None

    def leave(self, pid_namespace: PidNamespace, *, good: bool) -> bool:
        """Notes that a container in it has ended. Returns whether the namespace is kept."""
        pid_namespace.users -= 1
        if pid_namespace.users:
            return True
        kept = self._free.setdefault(pid_namespace.key, [])
        if (
            good
            and len(kept) < _MAX_FREE
            and pid_namespace.is_as_new()
            and not self._is_changed(pid_namespace)
        ):
            pid_namespace.since = time.monotonic()
            kept.append(pid_namespace)
            return True
        if not kept:
            del self._free[pid_namespace.key]
        self.drop(pid_namespace)
        return False

    def _is_changed(self, pid_namespace: PidNamespace) -> bool:
        self.changes.hear()
        return (
            pid_namespace.marks is None
            or self.changes.is_changed(pid_namespace.marks)
            or self._has_files(pid_namespace)
        )

    def _has_files(self, pid_namespace: PidNamespace) -> bool:
        """Whether anything is in its /tmp. Files that were removed again do not count."""
        marks = pid_namespace.tmp_marks
        if not pid_namespace.tmp or (marks is not None and not self.changes.is_changed(marks)):
            return False
        try:
            if os.listdir(pid_namespace.tmp):
                return True
        except OSError:
            return True
        if marks is not None:
            self.changes.renew(marks)
        return False

    def drop(self, pid_namespace: PidNamespace) -> None:
        pid_namespace.close()
        for marks in (pid_namespace.marks, pid_namespace.tmp_marks):
            if marks is not None:
                self.changes.forget(marks)
        if pid_namespace.tmp:
            self._fork_server.remove(pid_namespace.tmp)

    @property
    def keeps_some(self) -> bool:
        return bool(self._free)

    def forget_unused(self, since: float) -> list[PidNamespace]:
        """Ends the namespaces that were not used since then, and returns them."""
        gone: list[PidNamespace] = []
        for key, pid_namespaces in list(self._free.items()):
            old = [pid_namespace for pid_namespace in pid_namespaces if pid_namespace.since < since]
            gone += old
            pid_namespaces[:] = [
                pid_namespace for pid_namespace in pid_namespaces if pid_namespace.since >= since
            ]
            if not pid_namespaces:
                del self._free[key]
        for pid_namespace in gone:
            self.drop(pid_namespace)
        return gone

    def _clear(self) -> None:
        """Removes the /tmp directories of ended namespaces of an earlier keeper."""
        os.makedirs(self._directory, mode=0o700, exist_ok=True)
        for name in os.listdir(self._directory):
            if not name.isdigit() or procfs.name(int(name)) != fork_server.FIRST_NAME:
                self._fork_server.remove(f"{self._directory}/{name}")
