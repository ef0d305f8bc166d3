"""The shapes every layer shares. An object is its JSON as plain dicts and lists.

Objects that come out of the store or a cache are frozen by agreement: read them, never write to
them. Code that changes an object works on a copy it made itself (`copy_of`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, TypeAlias

import msgspec

Obj: TypeAlias = dict[str, Any]
"""One API object (or any part of one) as decoded JSON."""

encode: Final[Callable[[Any], bytes]] = msgspec.json.Encoder().encode
"""The JSON bytes of a value: compact, keys in the given order."""
decode: Final[Callable[[bytes | str], Any]] = msgspec.json.Decoder().decode
"""Parses JSON that this program wrote itself. Client input goes through `codec`."""

_encode_sorted = msgspec.json.Encoder(order="sorted").encode


def is_same(one: Any, other: Any) -> bool:
    """Whether two JSON values are equal in value and type; Python's 1, 1.0 and True are equal."""
    return one is other or (one == other and _encode_sorted(one) == _encode_sorted(other))


def keep(target: Obj, source: Obj, key: str) -> None:
    """Copies this field from `source` to `target`. If `source` lacks the field, removes it."""
    if key in source:
        target[key] = source[key]
    else:
        target.pop(key, None)


def copy_of(value: Any) -> Any:
    """A deep copy of a JSON value, without the cost of `copy.deepcopy`."""
    if type(value) is dict:
        return {k: copy_of(v) if type(v) in _CONTAINERS else v for k, v in value.items()}
    if type(value) is list:
        return [copy_of(v) if type(v) in _CONTAINERS else v for v in value]
    return value


_CONTAINERS = frozenset((dict, list))
