"""Directories, links, modes and owners of the volumes in a backup, besides the contents of files. Without
them a pod that runs as another user than longshore cannot use its files."""

from __future__ import annotations

import os
import stat
from collections.abc import Collection, Mapping
from contextlib import suppress
from pathlib import Path

import msgspec

from longshore.machinery import file_trees


class FileMode(msgspec.Struct, frozen=True):
    """Mode and owner of a regular file, a directory or a link, as `lstat` returns them."""

    mode: int
    uid: int
    gid: int
    target: str = ""
    """The target of a link."""


def of(directory: Path, volumes: Path) -> dict[str, FileMode]:
    """Modes and owners of everything below `volumes`, by path from `directory`. Links are not followed."""
    found: dict[str, FileMode] = {}
    for path in (Path(entry.path) for entry in file_trees.paths_below(volumes)):
        with suppress(FileNotFoundError):
            info = path.lstat()
            target = os.readlink(path) if stat.S_ISLNK(info.st_mode) else ""
            found[str(path.relative_to(directory))] = FileMode(info.st_mode, info.st_uid, info.st_gid, target)
    return found


def give(room: Path, files: Collection[str], modes: Mapping[str, FileMode]) -> None:
    """Gives these modes and owners to the volumes unpacked in `room`, to which no other process has access.

    A link is made after everything that a path could reach through it. Modes of directories are set last,
    because one may forbid making the links inside. The set-user-ID bit is never restored. A pod may have
    replaced a file, a directory or a link by another of these during the backup: then the one that is made
    first stays."""
    folders = [name for name in sorted(modes) if stat.S_ISDIR(modes[name].mode) and _made(room / name)]
    for name in files:
        if name in modes and stat.S_ISREG(modes[name].mode):
            _own(room / name, modes[name])
            (room / name).chmod(modes[name].mode & 0o777)
    for name in sorted(modes, reverse=True):  # what is inside a directory before the directory
        if stat.S_ISLNK(modes[name].mode):
            with suppress(FileExistsError, FileNotFoundError, NotADirectoryError):
                os.symlink(modes[name].target, room / name)
                _own(room / name, modes[name])
    for name in reversed(folders):
        _own(room / name, modes[name])
        (room / name).chmod(stat.S_IMODE(modes[name].mode))


def _made(folder: Path) -> bool:
    """Makes the directory; returns False if a file is in its place."""
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    except (FileExistsError, NotADirectoryError):
        return False
    return True


def _own(path: Path, mode: FileMode) -> None:
    """Sets the owner, which only root can."""
    if os.geteuid() == 0:
        os.chown(path, mode.uid, mode.gid, follow_symlinks=False)
