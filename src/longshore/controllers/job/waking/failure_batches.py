"""Lets failures that come together be counted together.

When a node goes or an image is bad, the pods of a Job fail one after the other within a moment. Looking after
each one would start replacements, and make back-offs, that nobody wants once all are known; upstream takes
everything within a second together. Here a Job with several pods is left alone after a failure until no other
has failed for a fifth of a second, and for a second at most. Everything else is looked at immediately.
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
    """Holds Jobs back, and puts them on the queue when it lets them go."""

    def __init__(self, clock: Clock, queue: WorkQueue[Key]) -> None:
        self._clock, self._queue = clock, queue
        self._open: dict[Key, _Open] = {}

    def holds(self, key: Key) -> bool:
        """Whether the Job is not to be looked at now; it will be on the queue again soon."""
        return key in self._open

    def failed(self, key: Key) -> None:
        """A pod of the Job has failed, and others may follow."""
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
