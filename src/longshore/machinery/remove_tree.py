"""Removes a directory tree and nothing else: follows no link, and stops at whatever is mounted below it."""

from __future__ import annotations

import os
import re
import shutil
from pathlib import Path
from typing import Final

_ESCAPED: Final = re.compile(rb"\\([0-7]{3})")


class Mounted(Exception):
    """Something is mounted below the directory, so it is left alone; unmount it first."""


def remove_tree(top: Path) -> None:
    """Removes `top`; nothing happens if it is not there. Raises Mounted, or OSError for what will not go."""
    if top.is_symlink() or top.is_file():
        top.unlink()
    if not top.is_dir():
        return
    if mounted := _mount_below(top):
        raise Mounted(f"{mounted} is mounted there; {top} is not removed")
    if os.geteuid() != 0:
        _make_writable(top)
    shutil.rmtree(top)  # follows no links, on Linux not even ones that are made meanwhile


def _mount_below(top: Path) -> str | None:
    own = os.fsencode(top.resolve())
    for line in Path("/proc/self/mountinfo").read_bytes().splitlines():
        target = _ESCAPED.sub(lambda match: bytes((int(match[1], 8),)), line.split(b" ", 5)[4])
        if target == own or target.startswith(own + b"/"):
            return os.fsdecode(target)
    return None


def _make_writable(top: Path) -> None:
    """A container may leave directories that only root could empty as they are."""
    os.chmod(top, 0o700)
    for folder, names, _ in os.walk(top):
        for name in names:
            path = os.path.join(folder, name)
            if not os.path.islink(path):
                os.chmod(path, 0o700)
