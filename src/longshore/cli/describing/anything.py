"""Any other object: every field, by name. kubectl describes custom resources in this form."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import datetime
from typing import Any, Final

from longshore.api.types import Obj
from longshore.cli.describing import events
from longshore.cli.describing.description_lines import Lines, head

_WORDS: Final = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z0-9]+|[0-9]+")
_CAPITALS: Final = {
    "api": "API",
    "url": "URL",
    "uid": "UID",
    "gid": "GID",
    "id": "ID",
    "ip": "IP",
    "os": "OS",
}
_ALREADY: Final = frozenset(("name", "namespace", "labels", "annotations", "managedFields"))


def describe(obj: Obj, happened: Sequence[Obj], now: datetime) -> str:
    lines = Lines()
    head(lines, obj)
    lines.labels("Labels", obj["metadata"].get("labels"))
    lines.annotations("Annotations", obj["metadata"].get("annotations"))
    metadata = {key: value for key, value in obj["metadata"].items() if key not in _ALREADY}
    _fields(lines, 0, {**obj, "metadata": metadata})
    events.describe(lines, happened, now)
    return lines.text()


def _fields(lines: Lines, level: int, fields: Obj) -> None:
    for key in sorted(fields):
        value = fields[key]
        title = _title(key)
        if isinstance(value, dict):
            lines.add(level, f"{title}:")
            _fields(lines, level + 1, value)
        elif isinstance(value, list):
            lines.add(level, f"{title}:")
            for item in value:
                if isinstance(item, dict):
                    _fields(lines, level + 1, item)
                else:
                    lines.add(level + 1, _text(item))
        else:
            lines.pair(level, title, _text(value))


def _text(value: Any) -> str:
    return ("true" if value else "false") if isinstance(value, bool) else str(value)


def _title(key: str) -> str:
    """`minAvailable` as `Min Available`; other text stays unchanged."""
    if not key.isidentifier():
        return key
    return " ".join(_CAPITALS.get(word.lower(), word[:1].upper() + word[1:]) for word in _WORDS.findall(key))
