"""Items of `longshore run --each`: the environment variables that each pod gets.

LONGSHORE_ITEM is the item, LONGSHORE_ITEM_NUMBER its number from 1. For items that are paths there are
LONGSHORE_ITEM_BASENAME, _DIRNAME, _STEM (without the extension) and _BASESTEM (the name alone without it).
Each field is in LONGSHORE_ITEM_1, _2, …; LONGSHORE_ITEM has all fields, separated by spaces.
"""

from __future__ import annotations

import os.path
import re
from collections.abc import Sequence
from typing import Final

FIELD_END: Final = "\x1f"
"""Separates the fields of a record."""
VARIABLE: Final = "LONGSHORE_ITEM"
_EXTENSION: Final = re.compile(r"\.[^/.]*$")


def variables(fields: Sequence[str], index: int) -> dict[str, str]:
    """The variables of the item with these fields. `index` is the completion index, from 0."""
    item = " ".join(fields)
    name = item.rpartition("/")[2]
    return {
        VARIABLE: item,
        f"{VARIABLE}_NUMBER": str(index + 1),
        f"{VARIABLE}_BASENAME": name,
        f"{VARIABLE}_DIRNAME": os.path.dirname(item) or ".",
        f"{VARIABLE}_STEM": _EXTENSION.sub("", item),
        f"{VARIABLE}_BASESTEM": _EXTENSION.sub("", name),
        **{f"{VARIABLE}_{number}": field for number, field in enumerate(fields, 1)},
    }
