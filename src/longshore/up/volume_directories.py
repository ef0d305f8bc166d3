"""The directories of volumes that longshore makes: one for each, named after the volume, under one root."""

from __future__ import annotations

import asyncio
from pathlib import Path

from longshore.machinery import file_trees


class LocalDirectories:
    """The directories under `root`, which only longshore's user can read."""

    def __init__(self, root: Path) -> None:
        self._root = root.absolute()

    def path(self, name: str) -> str:
        return str(self._root / name)

    def make(self, name: str) -> str:
        self._root.mkdir(mode=0o700, parents=True, exist_ok=True)
        path = self._root / name
        path.mkdir(exist_ok=True)
        path.chmod(0o777)
        return str(path)

    async def remove(self, name: str) -> None:
        await asyncio.to_thread(file_trees.remove_tree, self._root / name)
