"""fsGroup: a volume's files belong to a group of the pod, and the group may use them."""

from __future__ import annotations

import os
import stat
from pathlib import Path
from typing import Final

_FILES: Final = 0o660
_FOLDERS: Final = 0o2770
_SEE: Final = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


def give(top: Path, group: int, *, only_if_root_differs: bool = False) -> None:
    """Gives everything below `top` to `group`. Never follows a link, so nothing outside is touched.

    With `only_if_root_differs` (fsGroupChangePolicy OnRootMismatch) a top directory that is as it should be
    means that the rest is too: it is changed last. Raises PermissionError where this user may not do that.
    """
    if only_if_root_differs:
        found = top.lstat()
        if found.st_gid == group and found.st_mode & _FOLDERS == _FOLDERS:
            return
    for _, _, names, folder in os.fwalk(top, topdown=False):
        for name in names:
            if stat.S_ISREG(os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode):
                _give_file(name, folder, group)
            else:
                os.chown(name, -1, group, dir_fd=folder, follow_symlinks=False)
        _change(folder, group, _FOLDERS)


def _give_file(name: str, folder: int, group: int) -> None:
    """Through a handle: the name may have become a link since it was looked at."""
    handle = os.open(name, _SEE, dir_fd=folder)
    try:
        _change(handle, group, _FILES)
    finally:
        os.close(handle)


def _change(handle: int, group: int, bits: int) -> None:
    os.fchown(handle, -1, group)
    os.fchmod(handle, stat.S_IMODE(os.fstat(handle).st_mode) | bits)
