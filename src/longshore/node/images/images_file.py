"""The user's file of images, `images.yaml`, followed while longshore runs.

A file that cannot be read or has a mistake changes nothing: the last good table stays, `problem` says why.
No file is an empty one.
"""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Final

from longshore.api.codec.decoded import DecodeError
from longshore.machinery.followed_files import identity
from longshore.machinery.time.clock import Clock
from longshore.node.images import built_in
from longshore.node.images.image_table import BadImages, Row, Table, rows_of

NAME: Final = "images.yaml"
"""The file's name in a data directory."""
LOOK_SECONDS: Final = 1.0

log = logging.getLogger(__name__)


def read(path: Path) -> Table:
    """The table of a file and the built-in rows. Raises BadImages, whose message names the file."""
    return Table((*read_rows(path), *built_in.ROWS))


def read_rows(path: Path) -> tuple[Row, ...]:
    """The rows of a file alone. Raises BadImages, whose message names the file."""
    try:
        raw = path.read_bytes()
    except (FileNotFoundError, NotADirectoryError):
        return ()
    except OSError as err:
        raise BadImages(f"{path}: {err.strerror}") from None
    try:
        return parsed(raw)
    except BadImages as err:
        raise BadImages(f"{path}: {err}") from None


def parsed(raw: bytes) -> tuple[Row, ...]:
    """The rows of a text. Raises BadImages."""
    from longshore.api.codec import yamltext  # 10 ms of every start, and most have no such file

    try:
        found = yamltext.plain_yaml(raw)
    except DecodeError as err:
        raise BadImages(str(err)) from None
    if found.problems:
        raise BadImages(" ".join(found.problems[0].split()))
    return rows_of(found.value, "file")


class ImagesFile:
    """`table` is the one in force. Without a path it is the built-in one for ever."""

    def __init__(self, path: Path | None = None) -> None:
        """Raises BadImages if the file is bad from the beginning."""
        self.path = path
        self.problem = ""
        """Why the file as it is now is not in force; empty when it is."""
        self._seen = None if path is None else identity(path)
        self.table = built_in.TABLE if path is None else read(path)

    def find(self, image: str) -> Row | None:
        return self.table.find(image)

    def look(self) -> bool:
        """Reads the file again if it has changed since the last look. Whether it had."""
        if self.path is None or (now := identity(self.path)) == self._seen:
            return False
        self._seen = now
        try:
            self.table, self.problem = read(self.path), ""
        except BadImages as err:
            self.problem = str(err)
            log.warning("images stay as they were: %s", self.problem)
        else:
            log.info("images are read again from %s", self.path)
        return True

    async def follow(self, clock: Clock) -> None:
        """Looks every second, until cancelled."""
        while True:
            await clock.sleep(LOOK_SECONDS)
            self.look()
