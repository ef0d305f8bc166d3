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


class Look(msgspec.Struct, frozen=True):
    """Mode and owner of a regular file, a directory or a link, as `lstat` returns them."""

    mode: int
    uid: int
    gid: int
    target: str = ""
    """The target of a link."""


def of(directory: Path, volumes: Path) -> dict[str, Look]:
    """The looks of everything below `volumes`, by path from `directory`. Links are not followed."""
    found: dict[str, Look] = {}
    for path in (Path(entry.path) for entry in file_trees.paths_below(volumes)):
        with suppress(FileNotFoundError):
            info = path.lstat()
            target = os.readlink(path) if stat.S_ISLNK(info.st_mode) else ""
            found[str(path.relative_to(directory))] = Look(info.st_mode, info.st_uid, info.st_gid, target)
    return found


def give(room: Path, files: Collection[str], looks: Mapping[str, Look]) -> None:
    """Gives these looks to the volumes that were unpacked in `room`, to which no other process has access.

    A link is made after everything that a path could reach through it. Modes of directories are set last,
    because one may forbid making the links inside. The set-user-ID bit is never restored. A pod may have
    replaced a file, a directory or a link by another of these during the backup: then the one that is made
    first stays.
    """
    folders = [name for name in sorted(looks) if stat.S_ISDIR(looks[name].mode) and _made(room / name)]
    for name in files:
        if name in looks and stat.S_ISREG(looks[name].mode):
            _own(room / name, looks[name])
            (room / name).chmod(looks[name].mode & 0o777)
    for name in sorted(looks, reverse=True):  # what is inside a directory before the directory
        if stat.S_ISLNK(looks[name].mode):
            with suppress(FileExistsError, FileNotFoundError, NotADirectoryError):
                os.symlink(looks[name].target, room / name)
                _own(room / name, looks[name])
    for name in reversed(folders):
        _own(room / name, looks[name])
        (room / name).chmod(stat.S_IMODE(looks[name].mode))


def _made(folder: Path) -> bool:
    """Makes the directory; returns False if a file is in its place."""
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    except (FileExistsError, NotADirectoryError):
        return False
    return True


def _own(path: Path, look: Look) -> None:
    """Sets the owner, which only root can."""
    if os.geteuid() == 0:
        os.chown(path, look.uid, look.gid, follow_symlinks=False)
