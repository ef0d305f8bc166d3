"""The user's file of images, `images.yaml`: followed while longshore runs, and edited by `longshore images`.

A file that cannot be read or has a mistake changes nothing: the last good table stays, and `problem` has the
error. A missing file counts as empty. An edit leaves everything else as it was written, comments too.
"""

from __future__ import annotations

import json
import logging
from pathlib import Path
from typing import Final

import msgspec

from longshore.api.codec.decoded import DecodeError
from longshore.machinery.file_trees import identity
from longshore.machinery.time.clock import Clock
from longshore.node.images import image_table
from longshore.node.images.image_table import BadImages, ImageEntry, ImageTable, Row, rows_of

NAME: Final = "images.yaml"
"""The file's name in a data directory."""
LOOK_SECONDS: Final = 1.0

log = logging.getLogger(__name__)


def read(path: Path) -> ImageTable:
    """The table of a file and the built-in rows. Raises BadImages, whose message names the file."""
    return ImageTable((*read_rows(path), *image_table.BUILT_IN))


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
    """`table` is the table in force; without a path it is always the built-in one."""

    def __init__(self, path: Path | None = None) -> None:
        """Raises BadImages if the file has a mistake at the start."""
        self.path = path
        self.problem = ""
        """Why the present content of the file is not in force; empty if it is."""
        self._seen = None if path is None else identity(path)
        self.table = image_table.BUILT_IN_TABLE if path is None else read(path)

    def find(self, image: str) -> Row | None:
        return self.table.find(image)

    def look(self) -> bool:
        """Reads the file if it has changed since the last call; returns whether it has."""
        if self.path is None or (now := identity(self.path)) == self._seen:
            return False
        self._seen = now
        try:
            self.table, self.problem = read(self.path), ""
        except BadImages as err:
            self.problem = str(err)
            log.warning("the image table is unchanged: %s", self.problem)
        else:
            log.info("read the image table again from %s", self.path)
        return True

    async def follow(self, clock: Clock) -> None:
        """Checks the file every second, until cancelled."""
        while True:
            await clock.sleep(LOOK_SECONDS)
            self.look()


def added(text: str, pattern: str, entry: ImageEntry) -> str:
    """The text with this entry at its end, instead of an earlier one of the same pattern."""
    rest = removed(text, pattern)
    if rest and not rest.endswith("\n"):
        rest += "\n"
    return f"{rest}{line(pattern, entry)}\n"


def removed(text: str, pattern: str) -> str:
    """The text without the entry of this pattern; the same text if it has none. Raises BadImages."""
    import yaml  # 10 ms of every start, and only `longshore images` edits the file

    parsed(text.encode())
    root = yaml.compose(text, Loader=yaml.SafeLoader)
    if not isinstance(root, yaml.MappingNode):
        return text
    if root.flow_style:
        rows = {row.pattern: row.entry for row in parsed(text.encode()) if row.pattern != pattern}
        return "".join(f"{line(key, entry)}\n" for key, entry in rows.items())
    lines = text.splitlines(keepends=True)
    for key, value in root.value:
        if key.value == pattern:
            begin, end = key.start_mark.line, value.end_mark.line + (value.end_mark.column > 0)
            while end > begin + 1 and _is_between(lines[end - 1]):
                end -= 1  # remarks before the next entry belong to that one
            return "".join(lines[:begin] + lines[end:])
    return text


def line(pattern: str, entry: ImageEntry) -> str:
    """An entry as a line of the file: a command alone is a list."""
    value = {key: found for key, found in msgspec.to_builtins(entry).items() if found}
    short = value["command"] if value.keys() == {"command"} else value
    return f"{json.dumps(pattern, ensure_ascii=False)}: {json.dumps(short, ensure_ascii=False)}"


def _is_between(text: str) -> bool:
    return not text.strip() or text.lstrip().startswith("#")
