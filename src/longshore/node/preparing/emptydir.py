"""emptyDir volumes: a directory of the pod's own, on disk or, with medium Memory, in the machine's memory.

Memory lies under a directory in /dev/shm that belongs to this longshore alone: nobody else may have made
it, or be able to look into it.
"""

from __future__ import annotations

import hashlib
import os
import stat
from pathlib import Path

from longshore.api import quantity
from longshore.api.types import Obj
from longshore.node.preparing.sources import Missing
from longshore.node.preparing.types import Volume


def memory_root(shared: Path, root: Path) -> Path:
    """The directory for the pods whose other volumes lie under `root`."""
    digest = hashlib.sha256(os.fsencode(root.absolute())).hexdigest()
    return shared / f"longshore-{digest[:16]}"


def prepare(source: Obj, disk: Path, memory: Path) -> Volume:
    """Makes the directory: `disk`, or `memory` if the medium says so. One that is there is kept as it is."""
    medium = source.get("medium") or ""
    if medium not in ("", "Memory"):
        raise Missing(f'longshore has no storage medium "{medium}" for an emptyDir; it has "" and "Memory"')
    path = disk
    if medium:
        _own(memory.parents[2])
        path = memory
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    try:
        path.mkdir()
        path.chmod(0o777)  # the umask does not count; the directories above keep other users out
    except FileExistsError:
        pass
    limit = source.get("sizeLimit")
    return Volume(str(path), size_limit=None if limit is None else quantity.value(limit))


def _own(directory: Path) -> None:
    try:
        directory.mkdir(mode=0o700)
    except FileExistsError:
        found = directory.lstat()
        if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.geteuid() or found.st_mode & 0o077:
            raise Missing(
                f"{directory} was made by somebody else, so volumes in memory are not safe there; remove it"
            ) from None
    except OSError as err:
        raise Missing(f"{directory}: {err.strerror}") from None
