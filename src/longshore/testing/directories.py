"""Directories of volumes that exist only in memory."""

from __future__ import annotations


class MemoryDirectories:
    """Returns paths below `root`, and creates nothing there."""

    def __init__(self, root: str = "/volumes") -> None:
        self.made: set[str] = set()
        """Names of the volumes that have a directory."""
        self._root = root

    def path(self, name: str) -> str:
        return f"{self._root}/{name}"

    def make(self, name: str) -> str:
        self.made.add(name)
        return self.path(name)

    async def remove(self, name: str) -> None:
        self.made.discard(name)
