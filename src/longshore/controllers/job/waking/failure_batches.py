"""Batches failures that happen together into one sync.

When a node fails or an image is bad, the pods of a Job fail one after the other within a moment. A sync after
each failure would create replacements and back-offs that are wrong once all failures are known; upstream
batches all changes of a second. Here a Job with several pods is synced 0.2 seconds after its last failure, at
most 1 second after the first. All other changes are synced immediately.
"""

from __future__ import annotations

from typing import Final

import msgspec

from longshore.machinery.informers.cache import Key
from longshore.machinery.queues.workqueue import WorkQueue
from longshore.machinery.time.clock import Clock, Timer

_QUIET_SECONDS: Final = 0.2
_MAX_WAIT_SECONDS: Final = 1.0


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
