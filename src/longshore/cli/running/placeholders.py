"""Placeholders in a command of `--each`, as GNU parallel writes them: `{}`, `{/}`, `{//}`, `{.}`, `{/.}`,
`{#}`, `{1}`, and `{column}`.

They become Kubernetes' own `$(NAME)`, with variables that the node gives to each pod. What they hold is said
in the node's `preparing/environment/items.py`.
"""

from __future__ import annotations

import os.path
import re
from collections.abc import Sequence
from typing import Final

ITEM: Final = "LONGSHORE_ITEM"
_VARIABLES: Final = {
    "": ITEM,
    "#": f"{ITEM}_NUMBER",
    "/": f"{ITEM}_BASENAME",
    "//": f"{ITEM}_DIRNAME",
    ".": f"{ITEM}_STEM",
    "/.": f"{ITEM}_BASESTEM",
}
_BRACES: Final = re.compile(r"\{([^{}\s]*)\}")
_EXTENSION: Final = re.compile(r"\.[^/.]*$")


def as_variables(word: str, fields: int, columns: Sequence[str]) -> str:
    """The word with each placeholder as a variable. Braces that mean nothing here stay as they are."""

    def variable(match: re.Match[str]) -> str:
        name = _name(match[1], fields, columns)
        return f"$({name})" if name else match[0]

    return _BRACES.sub(variable, word)


def filled_in(word: str, row: Sequence[str], index: int, columns: Sequence[str]) -> str:
    """The word as the process of this item gets it, for people to read."""
    item = " ".join(row)
    values = {
        ITEM: item,
        f"{ITEM}_NUMBER": str(index + 1),
        f"{ITEM}_BASENAME": item.rpartition("/")[2],
        f"{ITEM}_DIRNAME": os.path.dirname(item) or ".",
        f"{ITEM}_STEM": _EXTENSION.sub("", item),
        f"{ITEM}_BASESTEM": _EXTENSION.sub("", item.rpartition("/")[2]),
        **{f"{ITEM}_{number}": field for number, field in enumerate(row, 1)},
    }

    def value(match: re.Match[str]) -> str:
        name = _name(match[1], len(row), columns)
        return values[name] if name else match[0]

    return _BRACES.sub(value, word)


def _name(inside: str, fields: int, columns: Sequence[str]) -> str:
    """The variable that a placeholder means; empty for none."""
    if inside in columns:
        return f"{ITEM}_{columns.index(inside) + 1}"
    if inside.isdigit() and 1 <= int(inside) <= fields:
        return f"{ITEM}_{int(inside)}"
    return _VARIABLES.get(inside, "")
