"""Keys for the pods of a Job, and who makes them. The maker is handed in: keys come from the machine's
randomness, and one takes tenths of a second to find.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple, Protocol

import msgspec

from longshore.api.types import Obj


class KeyPair(NamedTuple):
    private: str
    """PKCS #1, PEM."""
    public: str
    """One line, as in authorized_keys."""


class KeyMaker(Protocol):
    async def rsa(self, bits: int) -> KeyPair:
        """A new key of this size."""


class NeedsKey(msgspec.Struct, frozen=True):
    """An object that cannot be written without a new key."""

    bits: int
    with_key: Callable[[KeyPair], Obj]
