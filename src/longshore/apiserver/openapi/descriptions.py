"""Short texts for kinds and fields, shown by `kubectl explain`. They live in `descriptions.json`.

Keys are message ids, and below each its field names; the empty name describes the message itself.
`*` holds texts for fields that mean the same everywhere.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path

import msgspec


@cache
def _texts() -> dict[str, dict[str, str]]:
    file = Path(__file__).with_name("descriptions.json")
    return msgspec.json.decode(file.read_bytes(), type=dict[str, dict[str, str]])


def of_message(message: str) -> str:
    """The description of a message; empty without one."""
    own = _texts().get(message, {}).get("")
    if own:
        return own
    name = message.rpartition(".")[2]
    return f"A list of objects of kind {name.removesuffix('List')}." if name.endswith("List") else ""


def of_field(message: str, field: str) -> str:
    """The description of a field; empty without one."""
    texts = _texts()
    return texts.get(message, {}).get(field) or texts["*"].get(field, "")
