"""IPC namespaces, each kept for the next container if the last one left nothing in it.

A new IPC namespace costs the kernel more than the start of a process, and its end as much again. It is reused
only after a container that cannot write to /proc/sys, where the namespace's limits are set.
"""

from __future__ import annotations

import ctypes
import os

from longshore.node.keeper import linux

_libc = ctypes.CDLL(None, use_errno=True)

_SHM_INFO, _SEM_INFO, _MSG_INFO = 14, 19, 12
_SHM_COUNT_AT, _SEM_COUNT_AT, _MSG_COUNT_AT = 0, 7, 0  # of the objects in use, in what the kernel answers
_ANSWER = (ctypes.c_int * 32)()


class IpcNamespace:
    """`here` is the directory with the namespaces the keeper is in."""

    __slots__ = ("_empty_bytes", "_namespace", "_queues")

    def __init__(self, here: int) -> None:
        """Makes a namespace and enters it. Raises OSError."""
        linux.unshare(linux.NEWIPC)
        self._namespace = self._queues = -1
        try:
            self._queues = linux.queues_mount()
            self._empty_bytes = os.fstat(self._queues).st_size
            self._namespace = os.open("ipc", os.O_RDONLY | os.O_CLOEXEC, dir_fd=here)
        except OSError:
            self.close()  # it serves one container only, because it cannot be checked

    def enter(self) -> None:
        linux.setns(self._namespace, linux.NEWIPC)

    def is_empty(self) -> bool:
        """Enters the namespace. Returns whether it has no POSIX queues and no System V objects."""
        if self._namespace < 0:
            return False
        self.enter()
        return os.fstat(self._queues).st_size == self._empty_bytes and not _system_v_objects()

    def close(self) -> None:
        for fd in (self._queues, self._namespace):
            if fd >= 0:
                os.close(fd)
        self._queues = self._namespace = -1


def _system_v_objects() -> bool:
    """Whether the namespace has System V objects; True if the kernel does not say."""
    return (
        _libc.shmctl(0, _SHM_INFO, _ANSWER) < 0
        or _ANSWER[_SHM_COUNT_AT] != 0
        or _libc.semctl(0, 0, _SEM_INFO, _ANSWER) < 0
        or _ANSWER[_SEM_COUNT_AT] != 0
        or _libc.msgctl(0, _MSG_INFO, _ANSWER) < 0
        or _ANSWER[_MSG_COUNT_AT] != 0
    )
