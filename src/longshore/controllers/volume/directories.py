"""The directories behind volumes that longshore makes. Who makes them is handed in."""

from __future__ import annotations

from typing import Protocol

from longshore.api.facts import own_names
from longshore.api.types import Obj
from longshore.controllers.volume import names


class Directories(Protocol):
    """One directory a volume, named after it."""

    def path(self, name: str) -> str:
        """Where the directory of this volume is, or would be."""

    def make(self, name: str) -> str:
        """Makes the directory, empty unless it was there already, and returns its path. Any user of a pod may
        write to it."""

    async def remove(self, name: str) -> None:
        """Removes the directory and all in it."""


def has_made(directories: Directories, volume: Obj) -> bool:
    """Whether this is the directory of a volume that was made here; anything else is a person's data."""
    if names.marks_of(volume).get(names.PROVISIONED_BY) != own_names.LOCAL_PROVISIONER:
        return False
    own = directories.path(volume["metadata"]["name"])
    return bool((volume["spec"].get("hostPath") or {}).get("path") == own)
