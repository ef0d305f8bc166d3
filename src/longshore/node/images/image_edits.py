"""Changes to the text of an images file that leave all else as it was written, comments too. Pure."""

from __future__ import annotations

import json

import msgspec
import yaml

from longshore.node.images.image_table import Entry
from longshore.node.images.images_file import parsed


def added(text: str, pattern: str, entry: Entry) -> str:
    """The text with this entry at its end, instead of an earlier one of the same pattern."""
    rest = removed(text, pattern)
    if rest and not rest.endswith("\n"):
        rest += "\n"
    return f"{rest}{line(pattern, entry)}\n"


def removed(text: str, pattern: str) -> str:
    """The text without the entry of this pattern; the same text if it has none. Raises BadImages."""
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


def line(pattern: str, entry: Entry) -> str:
    """An entry as a line of the file: a command alone is a list."""
    value = {key: found for key, found in msgspec.to_builtins(entry).items() if found}
    short = value["command"] if value.keys() == {"command"} else value
    return f"{json.dumps(pattern, ensure_ascii=False)}: {json.dumps(short, ensure_ascii=False)}"


def _is_between(text: str) -> bool:
    return not text.strip() or text.lstrip().startswith("#")
