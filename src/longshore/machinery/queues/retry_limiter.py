"""An overall limit on retries of failed keys, beside the pause of each key.

Thousands of objects that all fail (a right is missing, a webhook is down) would otherwise load the server as
much as normal work does. Retries because of `TryAgain` are not counted.
"""

from __future__ import annotations

from longshore.api.time.backoff import TokenBucket
from longshore.machinery.time.clock import Clock


class RetryLimiter:
    """A limit that the queues of one controller share."""

    def __init__(self, clock: Clock, rate: float, burst: int) -> None:
        self._clock = clock
        self._bucket = TokenBucket(rate, burst, clock.monotonic())

    def pause(self) -> float:
        """Reserves the next retry; returns the seconds until it may run."""
        return self._bucket.reserve(self._clock.monotonic())
