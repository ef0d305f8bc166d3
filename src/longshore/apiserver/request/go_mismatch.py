"""Go's words for JSON that is of another type than the value it is read into."""

from __future__ import annotations

from typing import Any, Final

MAP: Final = "map[string]interface {}"
"""Go's name for an object of unknown fields."""


def mismatch(value: Any, target: str) -> str:
    """The error message for a value that is no `target`."""
    return f"json: cannot unmarshal {word(value)} into Go value of type {target}"


def word(value: Any) -> str:
    """The JSON type of a value, as Go calls it."""
    if type(value) is bool:
        return "bool"
    if type(value) is str:
        return "string"
    if type(value) is dict:
        return "object"
    return "array" if type(value) is list else "number"
