"""Checks by device and inode whether the journal's files are still where they were opened.

A process that goes on writing to a removed file loses these writes when it ends, so the files are checked
once a second. A file that is put back counts as the same.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Final

LOOK_SECONDS: Final = 1.0


class OpenFiles:
    def __init__(self, monotonic: Callable[[], float]) -> None:
        self._monotonic = monotonic
        self._known: dict[Path, tuple[int, int]] = {}
        self._missing: Path | None = None
        self._looked = monotonic()

    def know(self, file: Path) -> None:
        """Notes a file that is open now."""
        found = _identity(file)
        if found is not None:
            self._known[file] = found

    def knows(self, file: Path) -> bool:
        return file in self._known

    @property
    def missing(self) -> Path | None:
        """The first file that was removed or replaced, looked for once a second; None if all are in place."""
        now = self._monotonic()
        if now - self._looked >= LOOK_SECONDS:
            self._looked = now
            changed = (file for file, known in self._known.items() if _identity(file) != known)
            self._missing = next(changed, None)
        return self._missing


def _identity(file: Path) -> tuple[int, int] | None:
    try:
        found = os.stat(file)
    except OSError:
        return None
    return found.st_dev, found.st_ino
