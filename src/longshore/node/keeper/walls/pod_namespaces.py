"""Namespaces that the containers of one pod share: IPC with /dev/shm, and the network if the pod has its own.

They belong to a pause process (namespace_holders.py), or to the container that was first in its pod. The
keeper holds them open, so they stay when that process ends. pods.py knows the namespaces of each pod.
"""

from __future__ import annotations

import contextlib
import os
import signal
import socket

from longshore.node.keeper import linux
from longshore.node.keeper.walls import fork_server

TYPE_CHECKING = False
if TYPE_CHECKING:
    from longshore.node.keeper.container_records import ContainerRecord
    from longshore.node.keeper.walls.fork_server import ForkServer
    from longshore.node.keeper.walls.pid_namespace import PidNamespace


class PodNamespaces:
    """The namespaces of a process, with its /dev/shm at the path `memory`. Raises OSError if it has ended."""

    def __init__(self, pid: int, memory: str) -> None:
        self._memory_path = memory
        self.pid_namespace: PidNamespace | None = None
        """The PID namespace of containers that share processes; see `shared_pid_namespace`."""
        self.pause = -1
        """The pidfd of the pause process, or -1."""
        self.control: socket.socket | None = None
        """The socket to the pause process, open as long as this keeper runs."""
        self.ipc = self.network = self._mounts = -1
        try:
            self._mounts = _open(pid, "mnt")
            self.ipc = _open(pid, "ipc")
            self.network = _open(pid, "net")
        except OSError:
            self.close()
            raise

    def memory(self, back: int) -> int:
        """A copy of its /dev/shm to mount. `back` is the mount namespace to return to."""
        return _copy(self._mounts, self._memory_path, back)

    def take_pid_namespace(self, entry: ContainerRecord) -> None:
        """Lets other containers join the PID namespace of this container, which may be an adopted one."""
        pid_namespace = entry.pid_namespace
        if pid_namespace is None:
            return
        if pid_namespace.mounts < 0:
            with contextlib.suppress(OSError):  # it has just ended
                pid_namespace.mounts = _open(entry.pid, "mnt")
        pid_namespace.is_shared, self.pid_namespace = True, pid_namespace

    def shared_pid_namespace(self) -> PidNamespace | None:
        """The PID namespace of containers that share processes, while one of them runs."""
        pid_namespace = self.pid_namespace
        return (
            pid_namespace
            if pid_namespace is not None and pid_namespace.users and pid_namespace.mounts >= 0
            else None
        )

    def close(self) -> None:
        """Closes the descriptors, and kills the pause process."""
        if self.pause >= 0:
            with contextlib.suppress(ProcessLookupError):
                signal.pidfd_send_signal(self.pause, signal.SIGKILL)
        if self.control is not None:
            self.control.close()
        for fd in (self._mounts, self.ipc, self.network, self.pause):
            if fd >= 0:
                os.close(fd)
        self.ipc = self.network = self._mounts = self.pause = -1


def create(server: ForkServer, lock: str, *, network: bool) -> tuple[PodNamespaces, int]:
    """Makes namespaces; returns them and the pid of their pause process. `lock` is the file that a running
    keeper locks. With `network` the pod gets a network namespace with a loopback interface only."""
    held = os.open(lock, os.O_RDONLY | os.O_CLOEXEC)
    try:
        control = server.order_pause(held, network=network)
    finally:
        os.close(held)
    try:
        pid, mounts = fork_server.receive_process(control)
        os.close(mounts)
        made = PodNamespaces(pid, "/")
    except OSError:
        control.close()
        raise
    made.pause, made.control = os.pidfd_open(pid), control
    return made, pid


def processes(pid_namespace: PidNamespace, back: int) -> int:
    """A copy of the /proc of a PID namespace that has containers, to mount."""
    return _copy(pid_namespace.mounts, "/proc", back)


def _copy(namespace: int, path: str, back: int) -> int:
    linux.setns(namespace, linux.NEWNS)
    try:
        return linux.open_tree(os.path.realpath(path))
    finally:
        linux.setns(back, linux.NEWNS)


def _open(pid: int, name: str) -> int:
    return os.open(f"/proc/{pid}/ns/{name}", os.O_RDONLY | os.O_CLOEXEC)
