"""UIDs: UUIDs of version 4 from random bits that the caller brings."""

from __future__ import annotations

from typing import Final

BITS: Final = 128
_VARIANT: Final = {d: "89ab"[int(d, 16) & 3] for d in "0123456789abcdef"}


def from_bits(bits: int) -> str:
    """The UUID of these 128 bits, of which six say version and variant instead."""
    h = f"{bits:032x}"
    return f"{h[:8]}-{h[8:12]}-4{h[13:16]}-{_VARIANT[h[16]]}{h[17:20]}-{h[20:]}"
