"""Walks and removes directory trees of any depth without following links.

Python's own functions recurse, so a deep tree overflows the stack. Removal refuses a tree with a mount in it.
"""

from __future__ import annotations

import errno
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final, NamedTuple

_ESCAPED: Final = re.compile(rb"\\([0-7]{3})")


def _open_flags() -> int:
    """Flags to open a directory that is no link. A function, because some systems lack these constants."""
    return os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


class Mounted(Exception):
    """Something is mounted below the directory, so it is left alone; unmount it first."""


class Directory(NamedTuple):
    """A directory during a walk. `handle` is valid until the walk goes on."""

    handle: int
    files: list[str]
    folders: list[str]


def remove_tree(top: Path) -> None:
    """Removes `top`, if it exists. Raises Mounted, or OSError for an entry that cannot be removed."""
    if top.is_symlink() or top.is_file():
        top.unlink()
    if not top.is_dir():
        return
    if mounted := _mount_below(top):
        raise Mounted(f"{mounted} is mounted there; {top} is not removed")
    for directory in deepest_first(top, force=os.geteuid() != 0):
        for name in directory.files:
            os.unlink(name, dir_fd=directory.handle)
        for name in directory.folders:
            os.rmdir(name, dir_fd=directory.handle)
    os.rmdir(top)


def deepest_first(top: Path, *, force: bool = False) -> Iterator[Directory]:
    """Yields every directory of the tree after its subdirectories. One handle is open at a time, at any
    depth.

    With `force`, every directory gets mode 0700: containers may leave some that their owner may not read.
    Else directories that cannot be opened are skipped. Raises OSError, also if one was moved meanwhile.
    """
    handle = _opened(str(top), None, force)
    above: list[tuple[Directory, tuple[int, int], list[str]]] = []
    try:
        here, identity = _listed(handle)
        left = [*here.folders]
        while True:
            if left:
                try:
                    inner = _opened(left.pop(), handle, force)
                except OSError:
                    if force:
                        raise
                    continue
                above.append((here, identity, left))
                os.close(handle)
                handle = inner
                here, identity = _listed(handle)
                left = [*here.folders]
                continue
            yield here
            if not above:
                return
            outer = os.open("..", _open_flags(), dir_fd=handle)
            os.close(handle)
            handle = outer
            here, identity, left = above.pop()
            if _identity(handle) != identity:
                raise OSError(errno.ESTALE, "a directory was moved while it was looked at", str(top))
            here = here._replace(handle=handle)
    finally:
        os.close(handle)


def paths_below(top: Path) -> Iterator[os.DirEntry[str]]:
    """Yields every entry below `top`; skips directories that cannot be listed. Links are not followed."""
    folders = [str(top)]
    while folders:
        try:
            entries = sorted(os.scandir(folders.pop()), key=lambda entry: entry.name)
        except OSError:
            continue
        yield from entries
        folders += [entry.path for entry in reversed(entries) if entry.is_dir(follow_symlinks=False)]


def _opened(name: str, within: int | None, force: bool) -> int:
    try:
        handle = os.open(name, _open_flags(), dir_fd=within)
    except PermissionError:
        if not force:
            raise
        place = os.open(name, os.O_PATH | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=within)
        try:
            os.chmod(f"/proc/self/fd/{place}", 0o700)  # the name itself may have become a link
        finally:
            os.close(place)
        handle = os.open(name, _open_flags(), dir_fd=within)
    if force:
        os.fchmod(handle, 0o700)
    return handle


def _listed(handle: int) -> tuple[Directory, tuple[int, int]]:
    """The directory, and its device and inode."""
    files: list[str] = []
    folders: list[str] = []
    with os.scandir(handle) as entries:
        for entry in entries:
            (folders if entry.is_dir(follow_symlinks=False) else files).append(entry.name)
    return Directory(handle, files, folders), _identity(handle)


def _identity(handle: int) -> tuple[int, int]:
    found = os.fstat(handle)
    return found.st_dev, found.st_ino


def _mount_below(top: Path) -> str | None:
    own = os.fsencode(top.resolve())
    for line in Path("/proc/self/mountinfo").read_bytes().splitlines():
        target = _ESCAPED.sub(lambda match: bytes((int(match[1], 8),)), line.split(b" ", 5)[4])
        if target == own or target.startswith(own + b"/"):
            return os.fsdecode(target)
    return None


# ---- Tells whether a file has changed, without reading it.


def identity(path: Path) -> tuple[int, ...] | None:
    """Device, inode, change time and size of a file: they differ after a change. None if there is no file."""
    try:
        found = os.stat(path)
    except OSError:
        return None
    return found.st_dev, found.st_ino, found.st_ctime_ns, found.st_size
