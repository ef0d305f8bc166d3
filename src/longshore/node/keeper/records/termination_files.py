"""Files for termination messages, which most containers never write to.

To be mounted a file must exist, and to make one on a disk costs more than to start the process. So it is made
in memory, and what is in it when the container ends goes to the path that was asked for; nothing written, no
file. The journal has its name, for a keeper that takes over meanwhile. Where there is no directory for shared
memory, or the file is there before, it is used as it is.
"""

from __future__ import annotations

import contextlib
import os
import stat
import zlib

_SHARED = "/dev/shm"
_MAX_MESSAGE_BYTES = 64 * 1024  # bytes of the end that are kept; Kubernetes shows 4096
_MODE = 0o666  # any user of the container may write, as kubelets allow


class Messages:
    def __init__(self, directory: str) -> None:
        name = f"longshore-{os.geteuid()}-{zlib.crc32(os.fsencode(directory)):08x}"
        self._memory = os.path.join(_SHARED, name)
        self._made = 0
        try:
            with contextlib.suppress(FileExistsError):
                os.mkdir(self._memory, 0o700)
            found = os.lstat(self._memory)
            if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.geteuid() or found.st_mode & 0o077:
                self._memory = ""  # somebody else's
        except OSError:
            self._memory = ""

    def place(self, wanted: str) -> str:
        """Makes the file to mount: in memory, or the wanted one."""
        if not self._memory or os.path.exists(wanted):
            return _make(wanted)
        self._made += 1
        return _make(f"{self._memory}/{os.getpid()}-{self._made}")

    def collect(self, file: str, wanted: str) -> bool:
        """Moves the message of an ended container to its place. Returns whether the file is as new."""
        try:
            found = os.stat(file)
            if found.st_size and file != wanted:
                with open(file, "rb") as source:
                    source.seek(max(0, found.st_size - _MAX_MESSAGE_BYTES))
                    text = source.read(_MAX_MESSAGE_BYTES)
                os.truncate(file, 0)
                os.makedirs(os.path.dirname(wanted), exist_ok=True)
                with open(wanted, "wb") as target:
                    target.write(text)
        except OSError:
            return False  # its directory is gone with the pod, or the disk is full
        return file != wanted and found.st_mode & 0o7777 == _MODE and found.st_uid == os.geteuid()

    def discard(self, file: str) -> None:
        if self._memory and file.startswith(self._memory):
            with contextlib.suppress(OSError):
                os.unlink(file)

    def clean(self, wanted: set[str]) -> None:
        """Leaves only these: an earlier keeper may not have come to it."""
        if self._memory:
            for name in os.listdir(self._memory):
                path = f"{self._memory}/{name}"
                if path not in wanted:
                    os.unlink(path)

    def close(self) -> None:
        if self._memory:
            with contextlib.suppress(OSError):
                os.rmdir(self._memory)


def _make(path: str) -> str:
    try:
        fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, _MODE)
    except FileExistsError:
        return path
    except FileNotFoundError:
        os.makedirs(os.path.dirname(path), mode=0o755, exist_ok=True)
        fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, _MODE)
    os.fchmod(fd, _MODE)
    os.close(fd)
    return path
