"""emptyDir volumes: a directory of the pod's own, on disk or, with medium Memory, in the machine's memory.

Volumes in memory lie in a directory of /dev/shm that belongs to this longshore alone: no other user may have
made it or can read it.
"""

from __future__ import annotations

import hashlib
import os
import stat
from pathlib import Path
from typing import Final

from longshore.api.types import Obj
from longshore.machinery import file_trees
from longshore.node.preparing.environment.sources import Missing
from longshore.node.preparing.types import Volume

_PREFIX: Final = "longshore-"
_OWNER: Final = ".root"
"""The file that holds the path of `root`, to which the volumes belong."""


def memory_root(shared: Path, root: Path) -> Path:
    """The directory for the pods whose other volumes lie under `root`."""
    digest = hashlib.sha256(os.fsencode(root.absolute())).hexdigest()
    return shared / f"{_PREFIX}{digest[:16]}"


def leave(directory: Path) -> None:
    """Removes the directory if no pod has anything in it any more."""
    if os.listdir(directory) == [_OWNER]:
        file_trees.remove_tree(directory)


def sweep(shared: Path) -> None:
    """Removes files in memory of longshores whose data directory is gone."""
    for directory in shared.glob(f"{_PREFIX}*"):
        try:
            _check_own(directory)
            root = (directory / _OWNER).read_text()
        except (Missing, OSError):
            continue
        if not os.path.lexists(root):
            file_trees.remove_tree(directory)


def prepare(source: Obj, disk: Path, memory: Path) -> Volume:
    """Makes the directory: `disk`, or `memory` if the medium says so. An existing one is kept."""
    medium = source.get("medium") or ""
    if medium not in ("", "Memory"):
        raise Missing(f'longshore has no storage medium "{medium}" for an emptyDir; it has "" and "Memory"')
    path = disk
    if medium:
        _own(memory.parents[2], disk.parents[2])
        path = memory
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    try:
        path.mkdir()
        path.chmod(0o777)  # the umask does not count; the directories above keep other users out
    except FileExistsError:
        pass
    return Volume(str(path))


def _own(directory: Path, root: Path) -> None:
    """Makes the directory for the pods under `root`, or checks that it was made before."""
    root.mkdir(mode=0o700, parents=True, exist_ok=True)  # `sweep` goes by it
    try:
        directory.mkdir(mode=0o700)
        (directory / _OWNER).write_text(str(root.absolute()))
    except FileExistsError:
        _check_own(directory)
    except OSError as err:
        raise Missing(f"{directory}: {err.strerror}") from None


def _check_own(directory: Path) -> None:
    found = directory.lstat()
    if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.geteuid() or found.st_mode & 0o077:
        raise Missing(
            f"{directory} was made by somebody else, so volumes in memory are not safe there; remove it"
        )
