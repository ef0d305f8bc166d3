"""The processes that hold namespaces open: the first process of a PID namespace, and a pod's pause process.

The first process of a container's PID namespace reaps orphans. The command itself is not the first process,
as with `docker run --init`: a signal without a handler ends it, as everywhere else, and it need not reap the
children of others. When the first process is killed, the kernel kills everything in the namespace. It sees no
files, and no process in the namespace can look into it, because it has capabilities that they lack. It exits
by itself when the keeper is gone and the namespace is empty.

The pause process of a pod of several containers lives in the namespaces that they share and does nothing, so
these outlive the containers, and a keeper that is killed: the next keeper finds them by its pid. Its root
directory is the pod's /dev/shm. It exits by itself when no keeper has held the lock for a minute.
"""

from __future__ import annotations

import fcntl
import os
import signal
import socket
import time

from longshore.node.keeper import linux

TYPE_CHECKING = False

if TYPE_CHECKING:
    from typing import NoReturn


_EMPTY_CHECK_SECONDS = 0.5  # seconds between looks whether others are left, once there is no keeper


def hold_pid_namespace(control: int, *, network: bool) -> NoReturn:
    """Never returns. Sends the keeper a /proc of this namespace, and then listens for its end."""
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # the kernel reaps
    with socket.socket(fileno=control) as sock:
        proc = linux.proc_mount()
        if network:
            linux.raise_loopback()
        linux.unshare(linux.NEWNS)
        change_root(linux.MS_RDONLY)
        socket.send_fds(sock, [b"ready"], [proc])
        os.closerange(0, control)
        os.closerange(control + 1, max(control, proc) + 1)
        while sock.recv(64):
            pass
    while _others():
        time.sleep(_EMPTY_CHECK_SECONDS)
    os._exit(0)


def change_root(flags: int, options: str = "") -> None:
    """Makes an empty directory in memory the root of this process' new mount namespace."""
    linux.mount("none", "/", flags=linux.MS_REC | linux.MS_SLAVE)
    linux.mount("longshore", "/proc", "tmpfs", flags, options)
    os.chdir("/proc")
    linux.pivot_root(".", ".")
    linux.umount(".", linux.MNT_DETACH)


def _others() -> bool:
    try:
        os.kill(-1, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        pass
    return True


_ORPHAN_SECONDS = 60.0
_LOCK_CHECK_SECONDS = 1.0


def hold_pod_namespaces(control: int, lock: int, *, network: bool) -> NoReturn:
    """Never returns. Sends the keeper its mount namespace. `lock` is the file that a keeper holds locked."""
    with socket.socket(fileno=control) as sock:
        if network:
            linux.raise_loopback()
        linux.unshare(linux.NEWNS)
        mounts = os.open("/proc/self/ns/mnt", os.O_RDONLY | os.O_CLOEXEC)
        change_root(linux.MS_NOSUID | linux.MS_NODEV, "mode=1777")
        socket.send_fds(sock, [b"ready"], [mounts])
        for fd in range(max(control, lock, mounts) + 1):
            if fd not in (control, lock):
                _close(fd)
        while sock.recv(64):
            pass
    left = time.monotonic() + _ORPHAN_SECONDS
    while time.monotonic() < left:
        time.sleep(_LOCK_CHECK_SECONDS)
        if _is_held(lock):
            left = time.monotonic() + _ORPHAN_SECONDS
    os._exit(0)


def _close(fd: int) -> None:
    try:
        os.close(fd)
    except OSError:
        return  # no descriptor has this number


def _is_held(lock: int) -> bool:
    """Whether a keeper holds the lock."""
    try:
        fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    fcntl.flock(lock, fcntl.LOCK_UN)
    return False
