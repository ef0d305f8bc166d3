"""`$(NAME)` in commands, arguments and variables, by Kubernetes' rules.

`$$` is a dollar sign, so `$$(NAME)` stays `$(NAME)`. A reference to something that does not exist, one
that is never closed, and a dollar sign before anything else all stay as they are written. Values are not
expanded again.

Variables that refer to each other double with every line of a manifest, so an expansion stops where Linux
could not start a program with its result: see `Room`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

MAX_STRING_BYTES: Final = 128 * 1024
"""The size of an argument or a `NAME=value`, with the zero byte at its end: MAX_ARG_STRLEN of Linux."""
MAX_TOTAL_BYTES: Final = 2 * 1024 * 1024
"""The size of all arguments and variables: a quarter of the usual stack of 8 MiB, as execve(2) has it."""


class TooLong(Exception):
    """No program can be started with this text. The message follows the name of the field."""


class Room:
    """The arguments and variables that one container may still have."""

    def __init__(self) -> None:
        self._left = MAX_TOTAL_BYTES

    def take(self, text: str) -> None:
        """Raises TooLong unless the text fits."""
        size = len(text) + 1
        if size <= MAX_STRING_BYTES and not text.isascii():
            size = len(text.encode(errors="surrogateescape")) + 1
        if size > MAX_STRING_BYTES:
            raise TooLong(_TEXT_REFUSAL)
        self._left -= size
        if self._left < 0:
            most = f"{MAX_TOTAL_BYTES >> 20} MiB"
            raise TooLong(f"is beyond the {most} that Linux allows arguments and variables together")


_TEXT_REFUSAL: Final = f"is longer than the {MAX_STRING_BYTES >> 10} KiB that Linux allows one text"


def expand(text: str, value_of: Callable[[str], str]) -> str:
    """`text` with each `$(NAME)` replaced by `value_of(NAME)`. Raises TooLong once the result is too long."""
    dollar = text.find("$")
    if dollar < 0:
        return text
    parts: list[str] = []
    at = size = 0
    last_close = text.rfind(")")
    while dollar >= 0:
        begun, after = text[dollar + 1 : dollar + 2], dollar + 2
        if begun == "$":
            part = "$"
        elif begun == "(" and dollar < last_close:
            close = text.index(")", dollar)
            part, after = value_of(text[dollar + 2 : close]), close + 1
        else:
            part = text[dollar:after]
        parts += (text[at:dollar], part)
        size += dollar - at + len(part)
        if size >= MAX_STRING_BYTES:
            raise TooLong(_TEXT_REFUSAL)
        at, dollar = after, text.find("$", after)
    parts.append(text[at:])
    return "".join(parts)


def from_maps(*maps: Mapping[str, str]) -> Callable[[str], str]:
    """Looks a name up in each map in turn; a name in none of them stays a reference."""

    def value_of(name: str) -> str:
        for values in maps:
            if (value := values.get(name)) is not None:
                return value
        return f"$({name})"

    return value_of
