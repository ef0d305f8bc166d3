"""Finds a JSON patch (RFC 6902) that makes one document of another, as a webhook answers with."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from longshore.api.types import Obj


def difference(old: Any, new: Any) -> list[Obj]:
    """Operations that make `new` of `old`; none when they are equal. Lists of different lengths are replaced
    as a whole."""
    return [*_between(old, new, "")]


def _between(old: Any, new: Any, path: str) -> Iterator[Obj]:
    if isinstance(old, dict) and isinstance(new, dict):
        for key in old.keys() - new.keys():
            yield {"op": "remove", "path": _below(path, key)}
        for key, value in new.items():
            if key in old:
                yield from _between(old[key], value, _below(path, key))
            else:
                yield {"op": "add", "path": _below(path, key), "value": value}
    elif isinstance(old, list) and isinstance(new, list) and len(old) == len(new):
        for index, (one, other) in enumerate(zip(old, new, strict=True)):
            yield from _between(one, other, f"{path}/{index}")
    elif old != new or type(old) is not type(new):  # True is 1 in Python, and not in JSON
        yield {"op": "replace", "path": path, "value": new}


def _below(path: str, key: str) -> str:
    return f"{path}/{key.replace('~', '~0').replace('/', '~1')}"
