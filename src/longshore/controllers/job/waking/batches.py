"""Batches pods that end one after the other into one sync of their Job. Upstream batches all changes of a
second.

Failures: when a node fails or an image is bad, the pods of a Job fail within a moment. A sync after each
failure would create replacements and back-offs that are wrong once all failures are known. So a Job with
several pods is synced 0.2 seconds after its last failure, at most 1 second after the first.

Successes, when each request goes over a network: the first is synced immediately, those of the following
second together. A success is never delayed if something follows from its count: the last active pod, a pod
that is replaced by another, a success policy. All other changes are synced immediately.
"""

from __future__ import annotations

from typing import Final

import msgspec

from longshore.api.types import Obj
from longshore.machinery.informers.cache import Key
from longshore.machinery.queues.workqueue import WorkQueue
from longshore.machinery.time.clock import Clock, Timer

_PERIOD_SECONDS: Final = 1.0
"""Upstream's batch period."""
_MAX_REMEMBERED: Final = 1000
"""Above this number of Jobs, those whose window is over are forgotten."""
_QUIET_SECONDS: Final = 0.2
_MAX_WAIT_SECONDS: Final = 1.0


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
        """Returns the seconds until the sync for a success. `active` counts active pods at the last sync."""
        if not _only_counts(job):
            return 0.0
        now = self._clock.monotonic()
        window = self._windows.get(key)
        if window is not None and window.is_due and window.until <= now:
            # The Job was synced at the end of its window; that sync begins the next window.
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


class _Open(msgspec.Struct):
    since: float
    timer: Timer


class FailureBatches:
    """Holds Jobs back, and adds them to the queue when their batch closes."""

    def __init__(self, clock: Clock, queue: WorkQueue[Key]) -> None:
        self._clock, self._queue = clock, queue
        self._open: dict[Key, _Open] = {}

    def holds(self, key: Key) -> bool:
        """Whether the sync of the Job must wait; the Job is added to the queue again soon."""
        return key in self._open

    def failed(self, key: Key) -> None:
        """Opens or extends the Job's batch: a pod has failed, and others may follow."""
        now = self._clock.monotonic()
        known = self._open.get(key)
        since = now
        if known is not None:
            known.timer.cancel()
            since = known.since
        wait = min(now + _QUIET_SECONDS, since + _MAX_WAIT_SECONDS) - now
        self._open[key] = _Open(since, self._clock.call_later(wait, lambda: self._close(key)))

    def _close(self, key: Key) -> None:
        del self._open[key]
        self._queue.add(key)
