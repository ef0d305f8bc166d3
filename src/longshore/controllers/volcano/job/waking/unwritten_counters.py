"""Jobs whose changed counters are not written yet, because other Jobs wait.

The next write of such a Job usually includes them. Otherwise a timer makes sure that they are written within
a second.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from longshore.machinery.informers.cache import Key
from longshore.machinery.time.clock import Clock, Timer

MAX_SECONDS: Final = 1.0
"""Seconds for which counters may be outdated."""


class UnwrittenCounters:
    """The Jobs with unwritten counters. `wake` requests a sync of a Job."""

    def __init__(self, clock: Clock, wake: Callable[[Key], None]) -> None:
        self._clock, self._wake = clock, wake
        self._keys: dict[Key, None] = {}
        self._timer: Timer | None = None

    def __contains__(self, key: Key) -> bool:
        return key in self._keys

    def add(self, key: Key) -> None:
        self._keys[key] = None
        if self._timer is None:
            self._timer = self._clock.call_later(MAX_SECONDS, self._ring)

    def settle(self, key: Key) -> None:
        """Removes a Job whose status is written, or that is gone."""
        self._keys.pop(key, None)

    def stop(self) -> None:
        if self._timer is not None:
            self._timer.cancel()

    def _ring(self) -> None:
        self._timer = self._clock.call_later(MAX_SECONDS, self._ring) if self._keys else None
        for key in self._keys:
            self._wake(key)
