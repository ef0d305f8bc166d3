"""Command line flags as Go's `flag` package reads them, for the arguments of Volcano's job plugins.

`-x=v`, `--x=v` and `--x v` all mean the same; a bool needs `=` to be false. Reading stops at the first
argument that is no known flag or has no readable value. Flags read before that count; the flag without a
readable value becomes 0 or false, or the nearest 64-bit number.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import TypeAlias

Value: TypeAlias = str | int | bool

_TRUE = frozenset(("1", "t", "T", "true", "TRUE", "True"))
_INTEGER = re.compile(
    r"(?P<sign>[+-]?)(0[xX](_?[0-9a-fA-F])+|0[bB](_?[01])+|0[oO](_?[0-7])+|0_?(?P<octal>[0-7](_?[0-7])*)|0|[1-9](_?[0-9])*)",
    re.ASCII,
)
_MAX_NUMBER_CHARACTERS = 200
"""Longer texts count as numbers that are too large, even with leading zeros or underscores."""
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
        found[name], is_readable = _read(value, defaults[name])
        if not is_readable:
            break
    return found


def _read(text: str, like: Value) -> tuple[Value, bool]:
    """The new value of the flag, and whether the text could be read."""
    if isinstance(like, bool):
        return text in _TRUE, text in _TRUE or text in _FALSE
    if isinstance(like, str):
        return text, True
    number = _INTEGER.fullmatch(text)
    if number is None:
        return 0, False
    if len(text) > _MAX_NUMBER_CHARACTERS:
        return (-(2**63) if number["sign"] == "-" else 2**63 - 1), False
    found = int(f"{number['sign']}0o{number['octal']}" if number["octal"] else text, 0)
    nearest = max(-(2**63), min(found, 2**63 - 1))
    return nearest, nearest == found
