"""Pauses between tries that double: one rule, and every user's own numbers."""

from __future__ import annotations

from typing import Final

import msgspec

_MAX_EXPONENT: Final = 512
"""Any cap is reached long before; a larger power might overflow."""


class Doubling(msgspec.Struct, frozen=True):
    """Seconds to wait: `first` after the first failure, twice that after the second, and so up to `cap`."""

    first: float
    cap: float

    def after(self, failures: int) -> float:
        """The pause after so many failures in a row, at least one."""
        return min(self.first * 2.0 ** min(failures - 1, _MAX_EXPONENT), self.cap)

    def following(self, pause: float) -> float:
        """The pause after one of `pause` seconds; the first one after none."""
        return min(2.0 * pause, self.cap) if pause else self.first
