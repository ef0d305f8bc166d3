"""Batches pods that succeed one after the other into one sync, when each request goes over a network.

The first success is synced immediately, those of the following second together; upstream batches all changes
of a second. A success is never delayed if something follows from its count: the last active pod, a pod that
is replaced by another, a success policy.
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
"""The number of Jobs above which Jobs whose second is over are forgotten."""


class _Window(msgspec.Struct):
    until: float
    ended: set[str]
    """UIDs of pods that ended since the last sync."""
    is_due: bool = False
    """Whether a sync of the Job is scheduled for the end of the window."""


class EndBatches:
    """Keeps a window of one second for each Job."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._windows: dict[Key, _Window] = {}

    def wait(self, job: Obj, key: Key, uid: str, active: int) -> float:
        """Returns the seconds until the sync for a succeeded pod. `active` is the number of active pods at
        the last sync."""
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
    """Whether a success only changes a count while other pods are active."""
    spec = job["spec"]
    if spec.get("successPolicy") is not None:
        return False
    completions = spec.get("completions")
    if completions is None:
        return True  # a first success means that no other pod is started
    parallelism = spec.get("parallelism")
    left: int = completions - ((job.get("status") or {}).get("succeeded") or 0)
    return left <= (1 if parallelism is None else parallelism)
