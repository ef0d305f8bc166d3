"""Files for termination messages, which most containers never write to.

To be mounted a file must exist, and to make one on a disk costs more than to start the process. So it is made
in memory, and what is in it when the container ends goes to the path that was asked for; nothing written, no
file. It is found again by its name if the keeper is replaced meanwhile. Where there is no directory for shared
memory, or the file is already there, it is used as it is.
"""

from __future__ import annotations

import contextlib
import os
import stat
import zlib

from longshore.node.keeper.entry import Entry

_SHARED = "/dev/shm"
_MOST = 64 * 1024  # bytes of the end that are kept; Kubernetes shows 4096


class Messages:
    def __init__(self, directory: str) -> None:
        name = f"longshore-{os.geteuid()}-{zlib.crc32(os.fsencode(directory)):08x}"
        self._memory = os.path.join(_SHARED, name)
        try:
            with contextlib.suppress(FileExistsError):
                os.mkdir(self._memory, 0o700)
            found = os.lstat(self._memory)
            if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.geteuid() or found.st_mode & 0o077:
                self._memory = ""  # somebody else's
        except OSError:
            self._memory = ""

    def place(self, entry: Entry) -> str:
        """Makes the file; any user of the container may write to it, as kubelets allow."""
        if not self._memory or os.path.exists(entry.termination):
            return _make(entry.termination)
        return _make(self._file(entry))

    def collect(self, entry: Entry) -> None:
        """The container has ended: its message goes where it belongs."""
        if not self._memory or not entry.termination:
            return
        try:
            fd = os.open(self._file(entry), os.O_RDONLY | os.O_CLOEXEC)
        except OSError:
            return
        try:
            size = os.fstat(fd).st_size
            if size:
                text = os.pread(fd, _MOST, max(0, size - _MOST))
                os.makedirs(os.path.dirname(entry.termination), exist_ok=True)
                with open(entry.termination, "wb") as file:
                    file.write(text)
        except OSError:
            pass  # its directory is gone with the pod, or the disk is full
        finally:
            os.close(fd)
        os.unlink(self._file(entry))

    def clean(self, entries: list[Entry]) -> None:
        """Leaves only those of these containers: an earlier keeper may not have come to it."""
        if not self._memory:
            return
        wanted = {self._file(entry) for entry in entries}
        for name in os.listdir(self._memory):
            path = os.path.join(self._memory, name)
            if path not in wanted:
                os.unlink(path)

    def close(self) -> None:
        if self._memory:
            with contextlib.suppress(OSError):  # a container that outlives us still has its file there
                os.rmdir(self._memory)

    def _file(self, entry: Entry) -> str:
        return f"{self._memory}/{entry.key.replace('/', '_')}"


def _make(path: str) -> str:
    try:
        fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o666)
    except FileExistsError:
        return path
    except FileNotFoundError:
        os.makedirs(os.path.dirname(path), mode=0o755, exist_ok=True)
        fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o666)
    os.fchmod(fd, 0o666)
    os.close(fd)
    return path
