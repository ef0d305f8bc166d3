"""The directories of volumes that longshore provisions. Their maker is a parameter."""

from __future__ import annotations

from typing import Protocol

from longshore.api.facts import own_names
from longshore.api.types import Obj
from longshore.controllers.volume import names


class Directories(Protocol):
    """One directory per volume, named after it."""

    def path(self, name: str) -> str:
        """Returns the path of this volume's directory, even if it does not exist."""

    def make(self, name: str) -> str:
        """Makes the directory, unless it exists, and returns its path. Any user of a pod may write to it."""

    async def remove(self, name: str) -> None:
        """Removes the directory and all in it."""


def has_made(directories: Directories, volume: Obj) -> bool:
    """Whether longshore provisioned the volume's directory; any other holds a person's data."""
    if names.marks_of(volume).get(names.PROVISIONED_BY) != own_names.LOCAL_PROVISIONER:
        return False
    own = directories.path(volume["metadata"]["name"])
    return bool((volume["spec"].get("hostPath") or {}).get("path") == own)
