"""Lets pods that succeed one after the other be counted together, where each request goes over a network.

A first success is looked at immediately, those of the second after it together, as upstream takes everything
of a second together. Nobody waits for a count from which something follows: the last active pod, a pod in
whose place another one starts, a success policy.
"""

from __future__ import annotations

from typing import Final

import msgspec

from longshore.api.types import Obj
from longshore.machinery.informers.cache import Key
from longshore.machinery.time.clock import Clock

_PERIOD_SECONDS: Final = 1.0
"""Upstream's batch period."""
_MAX_REMEMBERED: Final = 1000
"""Jobs; then those are forgotten whose second is over."""


class _Window(msgspec.Struct):
    until: float
    ended: set[str]
    """UIDs of pods that ended since the last look."""
    is_due: bool = False
    """Whether the Job is looked at when it is over."""


class EndBatches:
    """By Job."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._windows: dict[Key, _Window] = {}

    def wait(self, job: Obj, key: Key, uid: str, active: int) -> float:
        """Seconds until the Job is to be looked at because of a pod that succeeded. `active` is how many pods
        were active at the last look."""
        if not _only_counts(job):
            return 0.0
        now = self._clock.monotonic()
        window = self._windows.get(key)
        if window is not None and window.is_due and window.until <= now:
            # The Job was looked at when it was over: that look begins another.
            window = self._windows[key] = _Window(window.until + _PERIOD_SECONDS, set())
        if window is None or window.until <= now:
            self._forget_old(now)
            self._windows[key] = _Window(now + _PERIOD_SECONDS, set())
            return 0.0
        window.ended.add(uid)
        if len(window.ended) >= active:
            return 0.0
        window.is_due = True
        return window.until - now

    def _forget_old(self, now: float) -> None:
        if len(self._windows) >= _MAX_REMEMBERED:
            old = now - _PERIOD_SECONDS
            self._windows = {key: window for key, window in self._windows.items() if window.until > old}


def _only_counts(job: Obj) -> bool:
    """Whether nothing but a number follows from the success of a pod while others are active."""
    spec = job["spec"]
    if spec.get("successPolicy") is not None:
        return False
    completions = spec.get("completions")
    if completions is None:
        return True  # a first success means that no other pod is started
    parallelism = spec.get("parallelism")
    left: int = completions - ((job.get("status") or {}).get("succeeded") or 0)
    return left <= (1 if parallelism is None else parallelism)
