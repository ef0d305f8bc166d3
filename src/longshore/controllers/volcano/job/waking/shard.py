"""The hash that gives each Job its worker: FNV-1 of 32 bits, as upstream computes it."""

from __future__ import annotations

from functools import lru_cache
from typing import Final

_BASIS: Final = 2166136261
_PRIME: Final = 16777619


@lru_cache(maxsize=4096)
def fnv1(text: str) -> int:
    """Multiplies first, then mixes the next byte in (FNV-1a does it the other way round)."""
    found = _BASIS
    for byte in text.encode():
        found = found * _PRIME % 2**32 ^ byte
    return found
