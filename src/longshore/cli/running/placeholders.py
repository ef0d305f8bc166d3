"""Placeholders in a command of `--each`, as GNU parallel writes them: `{}`, `{/}`, `{//}`, `{.}`, `{/.}`,
`{#}`, `{1}`, and `{column}`.

They become Kubernetes' own `$(NAME)`, with the variables of a pod's item (`api/facts/run_items.py`).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Final

from longshore.api.facts import run_items
from longshore.api.facts.run_items import VARIABLE as ITEM

_VARIABLES: Final = {
    "": ITEM,
    "#": f"{ITEM}_NUMBER",
    "/": f"{ITEM}_BASENAME",
    "//": f"{ITEM}_DIRNAME",
    ".": f"{ITEM}_STEM",
    "/.": f"{ITEM}_BASESTEM",
}
_BRACES: Final = re.compile(r"\{([^{}\s]*)\}")


def as_variables(word: str, fields: int, columns: Sequence[str]) -> str:
    """The word with each placeholder as a variable. Braces that mean nothing here stay as they are."""

    def variable(match: re.Match[str]) -> str:
        name = _name(match[1], fields, columns)
        return f"$({name})" if name else match[0]

    return _BRACES.sub(variable, word)


def unknown(words: Iterable[str], fields: int, columns: Sequence[str]) -> list[str]:
    """Braces around a word that is no placeholder, as of a column that is written wrong."""
    found = (match for word in words for match in _BRACES.finditer(word) if match[1].isidentifier())
    return [*dict.fromkeys(match[0] for match in found if not _name(match[1], fields, columns))]


def filled_in(word: str, row: Sequence[str], index: int, columns: Sequence[str]) -> str:
    """The word as the process of this item gets it, for people to read."""
    values = run_items.variables(row, index)

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
