"""An overall limit for tries of what failed, beside the pause that each key has for itself.

Thousands of objects that all fail (a right is missing, a webhook is down) would otherwise keep the server as
busy as if all was well. Those that wait for something usual (`TryAgain`) are not counted.
"""

from __future__ import annotations

from longshore.api.time.token_bucket import TokenBucket
from longshore.machinery.time.clock import Clock


class RetryLimiter:
    """Shared by the queues of one controller."""

    def __init__(self, clock: Clock, rate: float, burst: int) -> None:
        self._clock = clock
        self._bucket = TokenBucket(rate, burst, clock.monotonic())

    def pause(self) -> float:
        """Takes the next turn; returns in how many seconds it comes."""
        return self._bucket.reserve(self._clock.monotonic())
