"""The hash that assigns each Job to a worker: 32-bit FNV-1, as upstream."""

from __future__ import annotations

from functools import lru_cache
from typing import Final

_BASIS: Final = 2166136261
_PRIME: Final = 16777619


@lru_cache(maxsize=4096)
def fnv1(text: str) -> int:
    """Returns the FNV-1 hash: multiplies first, then XORs the next byte (FNV-1a does the reverse)."""
    found = _BASIS
    for byte in text.encode():
        found = found * _PRIME % 2**32 ^ byte
    return found
