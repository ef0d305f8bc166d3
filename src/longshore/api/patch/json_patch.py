"""JSON patch (RFC 6902) with the liberties of the library Kubernetes uses.

Negative indexes count from the end; replacing a missing key of an object sets it; testing a missing key for
null succeeds; a missing `value` is null; the first segment of a path is ignored. Upstream does not report why
an operation failed, so there is one error for all.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, Final

from longshore.api import types
from longshore.api.types import Obj

MAX_COPIED_BYTES: Final = 3 * 1024 * 1024
"""Bytes that all `copy` operations of a patch may add: a small patch must not make a huge object."""

_INDEX: Final = re.compile(r"[+-]?[0-9]+", re.ASCII)
_MAX_INDEX_CHARACTERS: Final = 1000
"""Characters of an index, leading zeros included. Python reads no number of more than 4,300 digits."""


class DoesNotApply(Exception):
    """An operation names a place that does not exist, or a test failed. The object is not changed."""


def patched(original: Any, operations: list[Obj | None]) -> Any:
    """The document after all operations. `original` is not changed."""
    document = types.copy_of(original)
    copied = 0
    for operation in operations:
        operation = operation or {}
        kind = operation.get("op")
        if kind == "copy":
            value = _value_at(document, _path(operation, "from"))
            copied += len(types.encode(value)) if value is not None else 0
            if copied > MAX_COPIED_BYTES:
                raise DoesNotApply
            _add(document, _path(operation, "path"), types.copy_of(value))
        elif kind == "move":
            source = _path(operation, "from")
            value = _value_at(document, source)
            _remove(document, source)
            _add(document, _path(operation, "path"), value)
        elif kind == "add":
            _add(document, _path(operation, "path"), types.copy_of(operation.get("value")))
        elif kind == "remove":
            _remove(document, _path(operation, "path"))
        elif kind == "replace":
            document = _replace(document, _path(operation, "path"), types.copy_of(operation.get("value")))
        elif kind == "test":
            _test(document, _path(operation, "path"), operation)
        else:
            raise DoesNotApply
    return document


def _path(operation: Obj, name: str) -> str:
    path = operation.get(name)
    if not isinstance(path, str):
        raise DoesNotApply
    return path


def _parent(document: Any, path: str) -> tuple[Any, str]:
    """The container of a path's last step, and that step."""
    steps = [s.replace("~1", "/").replace("~0", "~") for s in path.split("/")]
    if len(steps) < 2:
        raise DoesNotApply
    node = document
    for step in steps[1:-1]:
        node = _member(node, step)
        if type(node) not in (dict, list):
            raise DoesNotApply
    return node, steps[-1]


def _member(node: Any, step: str) -> Any:
    if type(node) is dict:
        return node.get(step)
    return node[_index(step, len(node))]


def _index(step: str, length: int) -> int:
    if len(step) > _MAX_INDEX_CHARACTERS or not _INDEX.fullmatch(step):
        raise DoesNotApply
    index = int(step)
    if index < 0:
        index += length
    if not 0 <= index < length:
        raise DoesNotApply
    return index


def _value_at(document: Any, path: str) -> Any:
    node, step = _parent(document, path)
    return _member(node, step)


def _add(document: Any, path: str, value: Any) -> None:
    node, step = _parent(document, path)
    if type(node) is dict:
        node[step] = value
    elif step == "-":
        node.append(value)
    else:
        node.insert(_index(step, len(node) + 1), value)


def _remove(document: Any, path: str) -> None:
    node, step = _parent(document, path)
    if type(node) is dict:
        if step not in node:
            raise DoesNotApply
        del node[step]
    else:
        del node[_index(step, len(node))]


def _replace(document: Any, path: str, value: Any) -> Any:
    if path == "":
        if type(value) not in (dict, list):
            raise DoesNotApply
        return value
    node, step = _parent(document, path)
    if type(node) is dict:
        node[step] = value
    else:
        node[_index(step, len(node))] = value
    return document


def _test(document: Any, path: str, operation: Obj) -> None:
    found = document if path == "" else _value_at(document, path)
    if not _equal(found, operation.get("value")):
        raise DoesNotApply


def _equal(a: Any, b: Any) -> bool:
    """Equality of JSON values: 1, 1.0 and true are three different things."""
    if type(a) is not type(b):
        return False
    if type(a) is dict:
        return a.keys() == b.keys() and all(_equal(v, b[k]) for k, v in a.items())
    if type(a) is list:
        return len(a) == len(b) and all(map(_equal, a, b))
    return bool(a == b)


# ---- Finds a JSON patch (RFC 6902) that makes one document of another, as a webhook answers with.


def difference(old: Any, new: Any) -> list[Obj]:
    """Operations that turn `old` into `new`; none if they are equal. Lists of different lengths are replaced
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
