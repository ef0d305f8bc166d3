"""Directories with the applets of a program such as busybox, each a link to the program.

A directory is made once for each version of a program: a replaced program gets another directory.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import Final

import msgspec

_LIST_SECONDS: Final = 5.0
_MAX_NAME_CHARACTERS: Final = 64
SHELL: Final = "sh"


class Applets(msgspec.Struct, frozen=True):
    program: str
    """The program's file, with symbolic links resolved."""
    directory: str
    """The directory with a link for each applet."""
    has_shell: bool


class AppletDirectories:
    """Directories below `root`. Programs without a slash are looked for in longshore's own PATH."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._made: dict[str, Applets] = {}

    def known(self, program: str) -> Applets | None:
        """The applets that `of` returned for the program before; None if there are none."""
        return self._made.get(program)

    def of(self, program: str) -> Applets | None:
        """The applets of a program; None if it is missing or lists none. The first call runs it."""
        made = self._made.get(program)
        if made is not None and os.path.isdir(made.directory):
            return made
        file = file_of(program)
        names = listed(file) if file is not None else []
        if file is None or not names:
            return None
        self._made[program] = Applets(file, self._directory(file, names), SHELL in names)
        return self._made[program]

    def _directory(self, file: str, names: list[str]) -> str:
        found = os.stat(file)
        place = self._root / f"{os.path.basename(file)}-{found.st_mtime_ns:x}-{found.st_size:x}"
        if not place.is_dir():
            self._root.mkdir(mode=0o700, parents=True, exist_ok=True)
            beside = Path(tempfile.mkdtemp(dir=self._root, prefix=".new-"))
            for name in names:
                (beside / name).symlink_to(file)
            beside.chmod(0o755)  # seen by pods of other users where it is mounted
            try:
                beside.rename(place)
            except OSError:  # another longshore on the same directory was quicker
                shutil.rmtree(beside)
        return str(place)


def file_of(program: str) -> str | None:
    """The file of a program of this machine; None where it is not installed."""
    found = shutil.which(os.path.expanduser(program))
    return os.path.realpath(found) if found else None


def listed(file: str) -> list[str]:
    """The names of a program's applets, as its `--list` prints them; empty if it prints none."""
    try:
        told = subprocess.run([file, "--list"], capture_output=True, timeout=_LIST_SECONDS, check=True)
    except (OSError, subprocess.SubprocessError):
        return []
    names = told.stdout.decode(errors="replace").split("\n")
    return [name for name in names if name and len(name) <= _MAX_NAME_CHARACTERS and "/" not in name]
