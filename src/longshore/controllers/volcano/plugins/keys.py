"""SSH keys for the pods of a Job. The key maker is a parameter: keys need the machine's randomness, and
making one takes tenths of a second."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple, Protocol

import msgspec

from longshore.api.types import Obj


class KeyPair(NamedTuple):
    private: str
    """The private key, as PKCS #1 in PEM."""
    public: str
    """The public key, as one line of authorized_keys."""


class KeyMaker(Protocol):
    async def rsa(self, bits: int) -> KeyPair:
        """Returns a new key of this size."""


class NeedsKey(msgspec.Struct, frozen=True):
    """An object that cannot be written without a new key."""

    bits: int
    with_key: Callable[[KeyPair], Obj]
