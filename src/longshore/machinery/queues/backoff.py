"""Pauses after failures: longer each time, with jitter, and short again after two minutes without one."""

from __future__ import annotations

import random
from typing import Final

from longshore.api.time.backoff import Doubling, TokenBucket
from longshore.machinery.time.clock import Clock

_PAUSES: Final = Doubling(0.8, 30.0)
_CALM_SECONDS: Final = 120.0


class Backoff:
    """Pauses with upstream's numbers for reflectors. Jitter adds up to 100 %."""

    __slots__ = ("_clock", "_last", "_pause", "_rng")

    def __init__(self, clock: Clock, rng: random.Random) -> None:
        self._clock, self._rng = clock, rng
        self._pause = self._last = 0.0

    def next(self) -> float:
        """Seconds to wait now."""
        now = self._clock.monotonic()
        calm = now - self._last > _CALM_SECONDS
        self._pause = _PAUSES.following(0.0 if calm else self._pause)
        self._last = now
        return self._pause * (1.0 + self._rng.random())

    def begin_anew(self) -> None:
        """Makes the next pause the shortest again."""
        self._pause = 0.0


class RetryLimiter:
    """A limit that the queues of one controller share.

    Thousands of objects that all fail (a right is missing, a webhook is down) would otherwise load the server
    as much as normal work does. Retries because of `TryAgain` are not counted.
    """

    def __init__(self, clock: Clock, rate: float, burst: int) -> None:
        self._clock = clock
        self._bucket = TokenBucket(rate, burst, clock.monotonic())

    def pause(self) -> float:
        """Reserves the next retry; returns the seconds until it may run."""
        return self._bucket.reserve(self._clock.monotonic())
