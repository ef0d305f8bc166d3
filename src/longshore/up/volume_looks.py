"""Looks of the volumes in a backup: their directories and links, and modes and owners, which the contents of
files do not tell. A pod that runs as another user than longshore cannot use its files without them."""

from __future__ import annotations

import os
import stat
from collections.abc import Collection, Iterator, Mapping
from contextlib import suppress
from pathlib import Path

import msgspec


class Look(msgspec.Struct, frozen=True):
    """A regular file, a directory or a link, as `lstat` tells."""

    mode: int
    uid: int
    gid: int
    target: str = ""
    """Of a link."""


def of(directory: Path, volumes: Path) -> dict[str, Look]:
    """The looks of all that is below `volumes`, by path from `directory`. Links are not followed."""
    found: dict[str, Look] = {}
    for path in _below(volumes):
        with suppress(FileNotFoundError):
            info = path.lstat()
            target = os.readlink(path) if stat.S_ISLNK(info.st_mode) else ""
            found[str(path.relative_to(directory))] = Look(info.st_mode, info.st_uid, info.st_gid, target)
    return found


def _below(volumes: Path) -> Iterator[Path]:
    for folder, folders, names in os.walk(volumes):
        yield from (Path(folder, name) for name in (*folders, *names))


def give(room: Path, files: Collection[str], looks: Mapping[str, Look]) -> None:
    """Gives these looks to the volumes that were unpacked in `room`, to which nobody else has access.

    A link comes after everything that a path could reach through it. Modes of directories come last, as one
    may forbid to make the links inside. Files never run as their owner afterwards (the set-user-ID bit). A
    pod may have put a file, a directory and a link in each other's places during the backup: then the one
    that is there first stays.
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
    """Whether there is this directory now; False where a file is in the way."""
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    except (FileExistsError, NotADirectoryError):
        return False
    return True


def _own(path: Path, look: Look) -> None:
    """Only root can give files to others."""
    if os.geteuid() == 0:
        os.chown(path, look.uid, look.gid, follow_symlinks=False)
