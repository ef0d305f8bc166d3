"""Jobs whose counters changed and are not written yet, because there is more urgent work.

What comes next for such a Job mostly carries them along. For the others one timer sees to it that they are
not out of date for long.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from longshore.machinery.informers.cache import Key
from longshore.machinery.time.clock import Clock, Timer

MAX_SECONDS: Final = 1.0
"""Seconds for which counters may be out of date."""


class UnwrittenCounters:
    """The Jobs with unwritten counters. `wake` asks for a look at a Job."""

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
        """Forgets a Job whose status is written, or that is gone."""
        self._keys.pop(key, None)

    def stop(self) -> None:
        if self._timer is not None:
            self._timer.cancel()

    def _ring(self) -> None:
        self._timer = self._clock.call_later(MAX_SECONDS, self._ring) if self._keys else None
        for key in self._keys:
            self._wake(key)
