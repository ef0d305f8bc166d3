"""Gives every pod its own address in 127.64.0.0/10, a part of this machine's loopback network.

The address is a hash of the pod's uid, so it survives a restart; if it is taken, the next free one is used.
"""

from __future__ import annotations

import zlib
from typing import Final

_FIRST_ADDRESS: Final = (127 << 24) | (64 << 16)
_SIZE: Final = 1 << 22


class Addresses:
    def __init__(self) -> None:
        self._taken: dict[str, str] = {}
        """The uid of each pod, by its address."""

    def of(self, uid: str, known: str = "") -> str:
        """The pod's address. `known` is the address in its status, which the pod keeps."""
        if known:
            self._taken.setdefault(known, uid)
            return known
        at = zlib.crc32(uid.encode())
        while True:
            # The first and the last address of the block would look like a network and a broadcast.
            number = _FIRST_ADDRESS + 1 + at % (_SIZE - 2)
            text = f"127.{number >> 16 & 255}.{number >> 8 & 255}.{number & 255}"
            if self._taken.setdefault(text, uid) == uid:
                return text
            at += 1

    def release(self, uid: str, address: str) -> None:
        if self._taken.get(address) == uid:
            del self._taken[address]
