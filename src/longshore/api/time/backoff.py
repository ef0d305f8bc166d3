"""Token buckets and pauses that double: one class for each. Every user brings its own numbers."""

from __future__ import annotations

from typing import Final

import msgspec


class TokenBucket(msgspec.Struct):
    """Starts with `burst` tokens and gains `rate` more each second, up to `burst`."""

    rate: float
    burst: float
    filled: float
    """When tokens were last added, in seconds of any clock."""
    tokens: float = -1.0

    def __post_init__(self) -> None:
        self.tokens = self.burst

    def take(self, now: float) -> bool:
        """Takes a token if there is one; returns whether there was."""
        self._fill(now)
        if self.tokens < 1:
            return False
        self.tokens -= 1
        return True

    def reserve(self, now: float) -> float:
        """Takes a token, perhaps one of the future; returns the seconds until that token is available."""
        self._fill(now)
        self.tokens -= 1
        return max(0.0, -self.tokens / self.rate)

    def _fill(self, now: float) -> None:
        self.tokens = min(self.burst, self.tokens + (now - self.filled) * self.rate)
        self.filled = now


# ---- Pauses between tries that double: one rule, and every user's own numbers.

_MAX_EXPONENT: Final = 512
"""Every cap is reached long before. A larger power might overflow."""


class Doubling(msgspec.Struct, frozen=True):
    """Seconds to wait: `first` after the first failure, then twice as long each time, up to `cap`."""

    first: float
    cap: float

    def after(self, failures: int) -> float:
        """The pause after this number of failures in a row, at least one."""
        return min(self.first * 2.0 ** min(failures - 1, _MAX_EXPONENT), self.cap)

    def following(self, pause: float) -> float:
        """The pause after one of `pause` seconds; `first` if that is 0."""
        return min(2.0 * pause, self.cap) if pause else self.first
