"""The first process of a container's PID namespace: it holds the namespace open and reaps orphans.

The command itself is not the first process, as with `docker run --init`: a signal that it does not handle
ends it, as everywhere else, and it need not reap what others leave behind. When this one is killed, the
kernel kills everything in the namespace. It sees no files, and nobody in the namespace can look into it,
because it has capabilities that they do not have. It goes by itself when the keeper is gone and nobody else
is in the namespace.
"""

from __future__ import annotations

import os
import signal
import socket
import time

from longshore.node.keeper.processes import linux

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import NoReturn

_LOOK_SECONDS = 0.5  # seconds between looks whether others are left, once there is no keeper


def live(control: int, *, network: bool) -> NoReturn:
    """Never returns. Sends the keeper a /proc of this namespace, and then listens for its end."""
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # the kernel reaps
    with socket.socket(fileno=control) as sock:
        proc = linux.proc_mount()
        if network:
            linux.raise_loopback()
        _see_nothing()
        socket.send_fds(sock, [b"ready"], [proc])
        os.closerange(0, control)
        os.closerange(control + 1, max(control, proc) + 1)
        while sock.recv(64):
            pass
    while _others():
        time.sleep(_LOOK_SECONDS)
    os._exit(0)


def _see_nothing() -> None:
    """An empty directory as root."""
    linux.unshare(linux.NEWNS)
    linux.mount("none", "/", flags=linux.MS_REC | linux.MS_SLAVE)
    linux.mount("longshore", "/proc", "tmpfs", linux.MS_RDONLY)
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
