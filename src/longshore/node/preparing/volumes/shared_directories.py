"""ConfigMap and Secret volumes that several pods see as one directory.

They are read-only and follow their source, so pods of one namespace that ask for the same files can have the
same directory. For thousands of pods of a Job it is then written once, and their equal mounts take one mount
namespace. A directory is removed with the last pod that uses it.
"""

from __future__ import annotations

import hashlib
from pathlib import Path

from longshore.api.types import Obj, encode
from longshore.machinery import file_trees


class Shared:
    """The directories under `root`, each with the pods that use it."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._users: dict[Path, set[str]] = {}
        self._of: dict[str, set[Path]] = {}
        self._versions: dict[Path, str] = {}

    def path(self, pod: Obj, volume: Obj, group: int | None) -> Path:
        """The directory for this volume, which the pod uses from now on."""
        meta = pod["metadata"]
        asked = {key: value for key, value in volume.items() if key != "name"}
        digest = hashlib.sha256(encode([meta["namespace"], asked, group])).hexdigest()
        path = self._root / digest[:32]
        self._users.setdefault(path, set()).add(meta["uid"])
        self._of.setdefault(meta["uid"], set()).add(path)
        return path

    def holds(self, path: Path, version: str) -> bool:
        """Whether the directory was filled from this version of its source: then there is nothing to do."""
        return bool(version) and self._versions.get(path) == version

    def filled(self, path: Path, version: str) -> None:
        self._versions[path] = version

    def remove(self, uid: str) -> None:
        """Removes directories of a deleted pod that no other pod uses."""
        for path in self._of.pop(uid, ()):
            users = self._users[path]
            users.discard(uid)
            if not users:
                del self._users[path]
                self._versions.pop(path, None)
                file_trees.remove_tree(path)

    def sweep(self) -> None:
        """Removes directories that no pod uses any more. Called at start, when all pods are prepared."""
        if self._root.is_dir():
            for path in self._root.iterdir():
                if path not in self._users:
                    file_trees.remove_tree(path)
