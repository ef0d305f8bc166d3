"""Files for termination messages, which most containers never write to.

A file must exist to be mounted, and making one on a disk costs more than starting the process. So it is made
in memory. When the container ends, its content is written to the wanted path, unless it is empty. The journal
has its name, for a keeper that takes over meanwhile. If there is no shared memory, or the wanted file exists
already, that file is mounted itself.

Any user may make directories in shared memory, so the keeper's is opened once, checked, and used by its
descriptor from then on. A file in it is always new and never a link: a planted link would let a container
read its target, and the keeper empty it.
"""

from __future__ import annotations

import contextlib
import os
import zlib

from longshore.node.keeper import linux

_SHARED = "/dev/shm"
_MAX_MESSAGE_BYTES = 64 * 1024  # bytes of the end that are kept; Kubernetes shows 4096
_MODE = 0o666  # any user of the container may write, as kubelets allow


class Messages:
    def __init__(self, directory: str, shared: str = _SHARED) -> None:
        name = f"longshore-{os.geteuid()}-{zlib.crc32(os.fsencode(directory)):08x}"
        self._memory = os.path.join(shared, name)
        self._folder = _own_directory(self._memory)
        """The descriptor of the directory in memory, or -1 if there can be none."""
        self._made = 0

    def place(self, wanted: str) -> str:
        """Makes the file to mount: in memory, or the wanted one."""
        if self._folder < 0 or os.path.exists(wanted):
            return _on_disk(wanted)
        self._made += 1
        name = f"{os.getpid()}-{self._made}"
        try:
            self._make(name)
        except OSError:  # another program has cleared the shared memory
            os.close(self._folder)
            self._folder = _own_directory(self._memory)
            if self._folder < 0:
                return _on_disk(wanted)
            self._make(name)
        return f"{self._memory}/{name}"

    def tree(self, file: str) -> int:
        """The mount of a file that `place` made, to be moved into a namespace."""
        name = self._name(file)
        return linux.open_tree(f"/proc/self/fd/{self._folder}/{name}" if name else file, follow=False)

    def collect(self, file: str, wanted: str) -> bool:
        """Moves an ended container's message to its wanted path. Returns whether the file can be reused."""
        try:
            found = self._stat(file)
            if found.st_size and file != wanted:
                self._move(file, wanted, found.st_size)
        except OSError:
            return False  # its directory is gone with the pod, or the disk is full
        return file != wanted and found.st_mode & 0o7777 == _MODE and found.st_uid == os.geteuid()

    def _move(self, file: str, wanted: str, size: int) -> None:
        fd = self._open(file)
        try:
            text = os.pread(fd, _MAX_MESSAGE_BYTES, max(0, size - _MAX_MESSAGE_BYTES))
            os.ftruncate(fd, 0)
        finally:
            os.close(fd)
        os.makedirs(os.path.dirname(wanted), mode=0o700, exist_ok=True)
        with open(wanted, "wb") as target:
            target.write(text)

    def discard(self, file: str) -> None:
        if name := self._name(file):
            with contextlib.suppress(OSError):
                os.unlink(name, dir_fd=self._folder)

    def clean(self, wanted: set[str]) -> None:
        """Removes all files but these, which an earlier keeper may have left."""
        if self._folder >= 0:
            for name in os.listdir(self._folder):
                if f"{self._memory}/{name}" not in wanted:
                    os.unlink(name, dir_fd=self._folder)

    def close(self) -> None:
        if self._folder >= 0:
            with contextlib.suppress(OSError):
                os.rmdir(self._memory)

    def _make(self, name: str) -> None:
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
        fd = os.open(name, flags, _MODE, dir_fd=self._folder)
        os.fchmod(fd, _MODE)
        os.close(fd)

    def _stat(self, file: str) -> os.stat_result:
        name = self._name(file)
        at = self._folder if name else None
        return os.stat(name or file, dir_fd=at, follow_symlinks=False)

    def _open(self, file: str) -> int:
        flags = os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC
        name = self._name(file)
        return os.open(name, flags, dir_fd=self._folder) if name else os.open(file, flags)

    def _name(self, file: str) -> str:
        """The name of a file in memory, or "" for one that is elsewhere."""
        above, _, name = file.rpartition("/")
        return name if self._folder >= 0 and above == self._memory else ""


def _own_directory(path: str) -> int:
    """A descriptor of the directory, made or found, if only this user can read it; else -1."""
    with contextlib.suppress(OSError):
        os.mkdir(path, 0o700)
    try:
        fd = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError:
        return -1
    found = os.fstat(fd)
    if found.st_uid == os.geteuid() and not found.st_mode & 0o077:
        return fd
    os.close(fd)
    return -1  # another user's, or other users may enter it


def _on_disk(path: str) -> str:
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
    try:
        fd = os.open(path, flags, _MODE)
    except FileExistsError:
        return path
    except FileNotFoundError:
        os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
        fd = os.open(path, flags, _MODE)
    os.fchmod(fd, _MODE)
    os.close(fd)
    return path
