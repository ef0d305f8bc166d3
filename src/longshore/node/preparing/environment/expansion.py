"""`$(NAME)` in commands, arguments and variables, by Kubernetes' rules.

`$$` is a dollar sign, so `$$(NAME)` stays `$(NAME)`. A reference to something that does not exist, one
that is never closed, and a dollar sign before anything else all stay as they are written. Values are not
expanded again.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Final

_STEP: Final = re.compile(r"\$(?:(\$)|\(([^)]*)\)|(.))", re.DOTALL)
"""Also takes the character after a lone dollar sign, which therefore begins nothing: `$a$$` is one escape."""


def expand(text: str, value_of: Callable[[str], str]) -> str:
    """`text` with each `$(NAME)` replaced by `value_of(NAME)`."""
    if "$" not in text:
        return text

    def replaced(match: re.Match[str]) -> str:
        if match.lastindex == 1:
            return "$"
        if match.lastindex == 2:
            return value_of(match[2])
        return match[0]

    return _STEP.sub(replaced, text)


def from_maps(*maps: Mapping[str, str]) -> Callable[[str], str]:
    """Looks a name up in each map in turn; one found nowhere stands for its own reference."""

    def value_of(name: str) -> str:
        for values in maps:
            if (value := values.get(name)) is not None:
                return value
        return f"$({name})"

    return value_of
