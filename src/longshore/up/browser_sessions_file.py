"""The file in which sessions of browsers outlive a restart."""

from __future__ import annotations

from pathlib import Path

from longshore.up.files import write_private


class SessionsFile:
    """A `Shelf` of `apiserver.access.browser_sessions`."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def read(self) -> bytes:
        try:
            return self._path.read_bytes()
        except FileNotFoundError:
            return b""

    def write(self, data: bytes) -> None:
        write_private(self._path, data)
