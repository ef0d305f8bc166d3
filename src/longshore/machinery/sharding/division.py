"""The shard of an object, by rendezvous hashing: a further shard takes only its own share of the objects.

Each shard gives each object a weight, and the largest weight wins. With N shards instead of N - 1, an object
either stays or moves to the new shard: 1/N of them move. Every process computes the same shard.
"""

from __future__ import annotations

import struct
from collections.abc import Hashable
from functools import lru_cache
from hashlib import blake2b
from typing import Any, Final, Literal

By = Literal["namespace", "object"]
BY: Final[tuple[By, ...]] = ("namespace", "object")

_MAX_CACHED_KEYS: Final = 1 << 16
"""Keys whose shard is cached."""
_EIGHT_WEIGHTS: Final = struct.Struct("<8Q")
"""One digest holds the weights of eight shards."""


class Division:
    """Divides objects into `count` shards by namespace, or by object if one namespace has most of them."""

    def __init__(self, count: int, by: By = "namespace") -> None:
        if count < 1:
            raise ValueError(f"{count} shards: there must be at least one")
        self.count, self.by = count, by
        self.name = f"{count}-by-{by}"
        """The name of the division. Replicas that divide in the same way have the same name."""
        self._salts = tuple(number.to_bytes(2, "little") for number in range(-(-count // 8)))
        self._heaviest = lru_cache(_MAX_CACHED_KEYS)(self._compute)

    def of_namespace(self, namespace: str) -> int:
        return self._heaviest(namespace)

    def shard_of(self, key: Hashable) -> int:
        """The shard of a key of a work queue."""
        namespace, name = place_of(key)
        return self._heaviest(namespace if self.by == "namespace" else f"{namespace}/{name}")

    def _compute(self, text: str) -> int:
        data = text.encode()
        weights: list[int] = []
        for salt in self._salts:
            weights += _EIGHT_WEIGHTS.unpack(blake2b(data, salt=salt).digest())
        del weights[self.count :]
        return weights.index(max(weights))


def place_of(key: Any) -> tuple[str, str]:
    """Namespace and name of a key: a pair, a tuple that ends in one, or an object that has one as `key`."""
    if isinstance(key, tuple):
        return place_of(key[-1]) if isinstance(key[-1], tuple) else (key[0], key[1])
    return place_of(key.key)
