"""Terminals for containers: of the machine, or behind walls of the container's own /dev/pts.

The keeper opens them where it stands, which is where the container lives (namespaces.py). The near end stays
with the keeper or goes to a peer; the container opens the far end by its path, which is true inside.
"""

from __future__ import annotations

import os

from longshore.node.keeper.processes import linux
from longshore.node.keeper.records.entry import Entry

TYPE_CHECKING = False
if TYPE_CHECKING:
    from longshore.node.keeper.walls.users import Identity


def open_for(entry: Entry, identity: Identity | None) -> tuple[int, str]:
    """The near end of a new terminal, and the path of its far end, which belongs to the container's user.

    Behind walls /dev/ptmx may be the container's work; nobody can put another file at /dev/pts/ptmx."""
    near, number = linux.open_terminal("/dev/ptmx" if entry.cell is None else "/dev/pts/ptmx")
    path = f"/dev/pts/{number}"
    try:
        if identity is not None:
            os.chown(path, identity[0], -1)
    except OSError:
        os.close(near)
        raise
    return near, path
