"""The shapes every layer shares. An object is its JSON as plain dicts and lists.

Objects that come out of the store or a cache are frozen by agreement: read them, never write to
them. Code that changes an object works on a copy it made itself (`copy_of`).
"""

from __future__ import annotations

from typing import Any, TypeAlias

import msgspec

Obj: TypeAlias = dict[str, Any]
"""One API object (or any part of one) as decoded JSON."""

_encode = msgspec.json.Encoder().encode
_encode_sorted = msgspec.json.Encoder(order="sorted").encode
_decode = msgspec.json.Decoder().decode


def encode(value: Any) -> bytes:
    """The JSON bytes of `value`, compact, keys in the order they stand."""
    return _encode(value)


def decode(raw: bytes | str) -> Any:
    """Parses JSON that this program wrote itself. Client input goes through `codec`."""
    return _decode(raw)


def is_same(one: Any, other: Any) -> bool:
    """Whether two JSON values are equal, in their types, too: for Python alone 1, 1.0 and true are equal."""
    return one is other or (one == other and _encode_sorted(one) == _encode_sorted(other))


def copy_of(value: Any) -> Any:
    """A deep copy of a JSON value, without the cost of `copy.deepcopy`."""
    if type(value) is dict:
        return {k: copy_of(v) if type(v) in _CONTAINERS else v for k, v in value.items()}
    if type(value) is list:
        return [copy_of(v) if type(v) in _CONTAINERS else v for v in value]
    return value


_CONTAINERS = frozenset((dict, list))
