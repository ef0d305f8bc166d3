"""So many at once, then so many a second: one rule, and every user's own numbers."""

from __future__ import annotations

import msgspec


class TokenBucket(msgspec.Struct):
    """`burst` tokens at first, and `rate` more each second, never more than `burst`."""

    rate: float
    burst: float
    filled: float
    """When tokens were last added, in seconds of any clock."""
    tokens: float = -1.0

    def __post_init__(self) -> None:
        self.tokens = self.burst

    def take(self, now: float) -> bool:
        """Whether there was a token, which is taken."""
        self._fill(now)
        if self.tokens < 1:
            return False
        self.tokens -= 1
        return True

    def reserve(self, now: float) -> float:
        """Takes a token, even one that is still to come; returns the seconds until it is there."""
        self._fill(now)
        self.tokens -= 1
        return max(0.0, -self.tokens / self.rate)

    def _fill(self, now: float) -> None:
        self.tokens = min(self.burst, self.tokens + (now - self.filled) * self.rate)
        self.filled = now
