"""hostPath volumes: a path of this machine, checked against its type, in the kubelet's words."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable
from pathlib import Path
from typing import Final

from longshore.api.types import Obj
from longshore.node.preparing.environment.sources import Missing

_TYPES: Final[dict[str, tuple[Callable[[int], bool], str]]] = {
    "DirectoryOrCreate": (stat.S_ISDIR, "a directory"),
    "Directory": (stat.S_ISDIR, "a directory"),
    "FileOrCreate": (stat.S_ISREG, "a file"),
    "File": (stat.S_ISREG, "a file"),
    "Socket": (stat.S_ISSOCK, "a socket file"),
    "CharDevice": (stat.S_ISCHR, "a character device"),
    "BlockDevice": (stat.S_ISBLK, "a block device"),
}


def prepare(source: Obj, private: Path | None = None) -> str:
    """The path, made if its type says so. Raises Missing if it is not of that type or is in the directory
    `private`. In a directory above that, the keeper masks the private one."""
    path: str = source["path"]
    if private is not None and is_in(path, private):
        raise Missing(f"{path} is in longshore's data directory, which no pod may mount")
    kind = source.get("type") or ""
    try:
        if kind == "DirectoryOrCreate" or not kind:
            # Without a type nothing is checked, and container runtimes make a directory of what is not there.
            if not os.path.lexists(path):
                os.makedirs(path, mode=0o755, exist_ok=True)
        elif kind == "FileOrCreate" and not os.path.lexists(path):
            os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o644))
        if kind:
            is_one, name = _TYPES[kind]
            if not _is(path, is_one):
                raise Missing(f"hostPath type check failed: {path} is not {name}")
    except OSError as err:
        raise Missing(f"{path}: {err.strerror}") from None
    return path


def is_in(path: str, directory: Path) -> bool:
    """Whether a path leads into a directory, after all links are resolved."""
    real, top = os.path.realpath(path), os.path.realpath(directory)
    return real == top or real.startswith(f"{top.rstrip('/')}/")


def _is(path: str, is_one: Callable[[int], bool]) -> bool:
    try:
        return is_one(os.stat(path).st_mode)
    except FileNotFoundError:
        return False
