"""Command line flags as Go's `flag` package reads them, for the arguments of Volcano's job plugins.

`-x=v`, `--x=v` and `--x v` all mean the same; a bool needs `=` to be false. Reading stops at the first
thing that is no known flag or has no readable value; what was read until then counts.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TypeAlias

Value: TypeAlias = str | int | bool

_TRUE = frozenset(("1", "t", "T", "true", "TRUE", "True"))
_FALSE = frozenset(("0", "f", "F", "false", "FALSE", "False"))


def parse(arguments: Iterable[str], defaults: Mapping[str, Value]) -> dict[str, Value]:
    """The value of every flag in `defaults`; the type of a default is the type of its flag."""
    found = dict(defaults)
    rest = list(arguments)
    while rest:
        text = rest.pop(0)
        name = text[2:] if text.startswith("--") else text[1:]
        if not text.startswith("-") or not name or name[0] in "-=":
            break
        name, given, value = name.partition("=")
        if name not in defaults:
            break
        is_bool = isinstance(defaults[name], bool)
        if not given and is_bool:
            value = "true"
        elif not given:
            if not rest:
                break
            value = rest.pop(0)
        read = _read(value, defaults[name])
        if read is None:
            break
        found[name] = read
    return found


def _read(text: str, like: Value) -> Value | None:
    if isinstance(like, bool):
        return True if text in _TRUE else False if text in _FALSE else None
    if isinstance(like, str):
        return text
    try:
        return int(text, 0)
    except ValueError:
        return None
