"""Masks longshore's secrets in the mount namespace of a container: the data directory, and copies of its
files.

A secret may be visible at many places: at its own path, through a hostPath volume of a directory above,
through a bind mount of the host. In the kernel's table of mounts, each mount shows a directory of one file
system. So a secret is identified by its file system and its path there, and is masked at every mount that
shows it. The table is read after all mounts of the container are made, so no link that changes meanwhile
matters.
"""

from __future__ import annotations

import contextlib
import os
import re

from longshore.node.keeper import linux
from longshore.node.keeper.walls import file_tree, system_mounts

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    Mount = tuple[int, str, str, str]
    """Mount id, file system, the directory of it that is mounted, and the mount point."""

_ESCAPED = re.compile(r"\\(\d{3})")


class Secrets:
    """Directories and files that a container must not see. `own` are paths below them that it may see: the
    keeper mounts them for it. Created before the container's namespace."""

    def __init__(self, paths: Iterable[str], own: Iterable[str]) -> None:
        mounts = {mount[0]: mount for mount in _mounts()} if paths else {}
        self._places: list[tuple[str, str, str]] = []
        """File system, path in it, and path on the host, of each secret."""
        self._own: set[tuple[str, str]] = set()
        own = [os.path.normpath(path) for path in own]
        for path in paths:
            real = os.path.realpath(path)
            mount = mounts.get(_mount_of(real))
            if mount is None:
                continue  # nothing is there
            place = _joined(mount[2], real[len(mount[3].rstrip("/")) :])
            self._places.append((mount[1], place, real))
            for top in {os.path.normpath(path), real}:
                self._own.update((mount[1], place + each[len(top) :]) for each in own if _below(each, top))

    def mask(self, overlaid: Iterable[str]) -> None:
        """Covers the secrets wherever the namespace that the caller is in shows them. `overlaid` are
        directories that an overlay shows, which is a file system of its own."""
        if not self._places:
            return
        for top in overlaid:
            for _, _, real in self._places:
                if _below(real, top):
                    _cover(real, _mount_of(top))
        for number, system, shown, point in _mounts():
            for where, path, _ in self._places:
                if system != where:
                    continue
                if path == shown or _below(path, shown):
                    _cover(_joined(point, path[len(shown.rstrip("/")) :]), number)
                elif _below(shown, path) and (system, shown) not in self._own:
                    _cover(point, number)


def _cover(path: str, mount: int) -> None:
    """Covers a path, unless another mount than `mount` is visible there."""
    if _mount_of(path) != mount:
        return
    if os.path.isdir(path):
        system_mounts.hide(path)
    else:
        linux.mount("/dev/null", path, flags=linux.MS_BIND)
        file_tree.remount_read_only(path)


def _mounts() -> Iterator[Mount]:
    with open("/proc/self/mountinfo", errors="surrogateescape") as file:
        table = file.read()
    for line in table.splitlines():
        number, _, system, shown, point = line.split(" ", 5)[:5]
        yield int(number), system, _plain(shown), _plain(point)


def _plain(text: str) -> str:
    return _ESCAPED.sub(lambda match: chr(int(match[1], 8)), text) if "\\" in text else text


def _mount_of(path: str) -> int:
    """The number of the mount that a path is in; -1 where nothing is there."""
    fd = -1
    with contextlib.suppress(OSError):
        fd = os.open(path, os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC)
    if fd < 0:
        return -1
    try:
        with open(f"/proc/self/fdinfo/{fd}") as file:
            return int(re.search(r"^mnt_id:\s*(\d+)", file.read(), re.MULTILINE)[1])  # type: ignore[index] # Linux writes it
    finally:
        os.close(fd)


def _joined(top: str, rest: str) -> str:
    return (top.rstrip("/") + rest) or "/"


def _below(path: str, top: str) -> bool:
    return path.startswith(top.rstrip("/") + "/")
