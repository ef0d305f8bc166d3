"""An address for every pod: one of its own in 127.64.0.0/10, which is always this machine.

It follows from the pod's uid, so that it is the same after a restart; if it is taken, the next free one is.
"""

from __future__ import annotations

import zlib
from typing import Final

_FIRST: Final = (127 << 24) | (64 << 16)
_SIZE: Final = 1 << 22


class Addresses:
    def __init__(self) -> None:
        self._taken: dict[str, str] = {}
        """Uid by address."""

    def of(self, uid: str, known: str = "") -> str:
        """The pod's address; `known` is what its status says already, which stays."""
        if known:
            self._taken.setdefault(known, uid)
            return known
        at = zlib.crc32(uid.encode())
        while True:
            # The first and the last address of the block would look like a network and a broadcast.
            number = _FIRST + 1 + at % (_SIZE - 2)
            text = f"127.{number >> 16 & 255}.{number >> 8 & 255}.{number & 255}"
            if self._taken.setdefault(text, uid) == uid:
                return text
            at += 1

    def release(self, uid: str, address: str) -> None:
        if self._taken.get(address) == uid:
            del self._taken[address]
