"""How long to wait after a failure: longer each time, never twice the same, short again after a calm."""

from __future__ import annotations

import random
from dataclasses import dataclass, field

from longshore.machinery.time.clock import Clock


@dataclass(slots=True)
class Backoff:
    """Upstream's numbers for reflectors. `jitter` adds up to that part of the pause on top."""

    clock: Clock
    rng: random.Random
    first: float = 0.8
    cap: float = 30.0
    factor: float = 2.0
    jitter: float = 1.0
    reset_after: float = 120.0
    _pause: float = field(default=0.0, init=False)
    _last: float = field(default=0.0, init=False)

    def next(self) -> float:
        """Seconds to wait now."""
        now = self.clock.monotonic()
        if not self._pause or now - self._last > self.reset_after:
            self._pause = self.first
        else:
            self._pause = min(self._pause * self.factor, self.cap)
        self._last = now
        return self._pause * (1.0 + self.rng.random() * self.jitter)
