"""Files of a volume that change all at once, as the kubelet writes them.

The files lie in a directory of their own; `..data` is a symbolic link to it, and what a container sees are
links through `..data`. Moving that one link replaces everything, so no reader ever sees half of a change. Old
contents are removed after the move. Paths that would leave the volume are refused.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Final, NamedTuple

_DATA: Final = "..data"
_NEXT: Final = "..data_tmp"


class File(NamedTuple):
    """Contents and permissions."""

    content: bytes
    mode: int


def write(volume: Path, files: Mapping[str, File], group: int | None = None) -> bool:
    """Makes `files`, by path relative to it, the contents of `volume`. Returns whether anything changed.

    With `group` everything belongs to that group, which may read it."""
    for path in files:
        _refuse_escape(path)
    data = volume / _DATA
    if _same(data, files):
        return False
    if not volume.is_dir():
        volume.mkdir(parents=True)
        volume.chmod(0o755)
    fresh = Path(tempfile.mkdtemp(prefix="..", dir=volume))
    try:
        _fill(fresh, files, group)
        old = os.readlink(data) if data.is_symlink() else None
        _link(fresh.name, volume / _NEXT)
        os.rename(volume / _NEXT, data)
    except BaseException:
        shutil.rmtree(fresh, ignore_errors=True)
        raise
    _show(volume, {path.partition("/")[0] for path in files})
    if old is not None:
        shutil.rmtree(volume / os.path.basename(old), ignore_errors=True)
    return True


def _fill(fresh: Path, files: Mapping[str, File], group: int | None) -> None:
    for path, file in files.items():
        target = fresh / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(file.content)
        target.chmod(file.mode)
    for folder, _, _ in os.walk(fresh):
        os.chmod(folder, 0o755)  # whatever the umask is
    if group is not None:
        _give(fresh, group)


def _refuse_escape(path: str) -> None:
    parts = path.split("/")
    if not path or path.startswith("/") or ".." in parts or parts[0].startswith(".."):
        raise ValueError(f"invalid path {path!r} in a volume: it must stay below it and not begin with '..'")


def _same(data: Path, files: Mapping[str, File]) -> bool:
    """Whether the volume holds exactly these files already."""
    if not data.is_symlink():
        return False
    seen = 0
    for folder, _, names in os.walk(data):
        for name in names:
            path = Path(folder, name)
            wanted = files.get(str(path.relative_to(data)))
            if wanted is None or path.read_bytes() != wanted.content:
                return False
            if path.stat().st_mode & wanted.mode & 0o777 != wanted.mode & 0o777:
                return False
            seen += 1
    return seen == len(files)


def _show(volume: Path, names: set[str]) -> None:
    """Makes links for the files in the volume, and removes all other links."""
    for name in names:
        target = f"{_DATA}/{name}"
        link = volume / name
        if not (link.is_symlink() and os.readlink(link) == target):
            _link(target, link)
    for entry in os.scandir(volume):
        if not entry.name.startswith("..") and entry.name not in names and entry.is_symlink():
            os.unlink(entry.path)


def _link(target: str, link: Path) -> None:
    link.unlink(missing_ok=True)
    link.symlink_to(target)


def _give(top: Path, group: int) -> None:
    for folder, _, names in os.walk(top):
        os.chown(folder, -1, group)
        os.chmod(folder, os.stat(folder).st_mode | 0o2550)
        for name in names:
            path = os.path.join(folder, name)
            os.chown(path, -1, group)
            os.chmod(path, os.stat(path).st_mode | 0o440)
