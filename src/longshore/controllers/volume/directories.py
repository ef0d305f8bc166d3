"""The directories behind volumes that longshore makes: one each, named after the volume, under one root."""

from __future__ import annotations

import os
from pathlib import Path

from longshore.api.types import Obj
from longshore.controllers.volume import names
from longshore.machinery import remove_tree


class Directories:
    """Those under `root`, which nobody but longshore's user can look into."""

    def __init__(self, root: Path) -> None:
        self._root = root.absolute()

    def path(self, name: str) -> Path:
        return self._root / name

    def make(self, name: str) -> Path:
        """The volume's directory, empty unless it was there already. Any user of a pod may write to it."""
        self._root.mkdir(mode=0o700, parents=True, exist_ok=True)
        path = self.path(name)
        path.mkdir(exist_ok=True)
        path.chmod(0o777)
        return path

    def has_made(self, volume: Obj) -> bool:
        """Whether this is the directory of a volume that was made here; anything else is a person's data."""
        if names.marks_of(volume).get(names.PROVISIONED_BY) != names.PROVISIONER:
            return False
        own = os.fspath(self.path(volume["metadata"]["name"]))
        return (volume["spec"].get("hostPath") or {}).get("path") == own

    def remove(self, name: str) -> None:
        remove_tree.remove_tree(self.path(name))
