"""Views as JSON: saved for a report or a log, and loaded again to see what `decide` makes of them.

A view is a dataclass of plain data: objects, texts, numbers, other dataclasses, and collections of these. A
loaded view equals the saved one, and `decide` gives the same plan for both.
"""

from __future__ import annotations

from typing import TypeVar

import msgspec

View = TypeVar("View")


def to_json(view: object) -> bytes:
    """The view in compact JSON. Raises TypeError if a field holds something that is no plain data."""
    return msgspec.json.encode(view)


def from_json(kind: type[View], saved: bytes) -> View:
    """The view that was saved; `kind` is its class. Raises ValidationError if a field does not fit."""
    return msgspec.json.decode(saved, type=kind)
