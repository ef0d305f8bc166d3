"""Limits that a user may set: how much controllers do at a time, and how soon they retry."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from longshore.api.time.backoff import Doubling


class WorkLimits(msgspec.Struct, frozen=True):
    """The limits of all controllers of one process."""

    workers: Mapping[str, int] = msgspec.field(default_factory=dict)
    """Objects synced in parallel, by the controller's name; other controllers keep their own numbers."""
    resync: float | None = None
    """Seconds after which every object is synced again without a change; None means never."""
    max_pause: float | None = None
    """The longest pause, in seconds, before an object that failed is retried; None: each controller's own."""
    rate: float = 10.0
    """Retries of failed objects per second, for all objects of one controller together; upstream's number."""
    burst: int = 100
    """Retries of failed objects that may exceed the rate in a burst; upstream's number."""
    max_requeues: int = 15
    """Consecutive refusals after which Volcano's controllers give up; negative: never. Upstream's number."""

    def gives_up(self, refusals: int) -> bool:
        """Whether Volcano's controllers give up after this many consecutive refusals."""
        return 0 <= self.max_requeues < refusals

    def pauses(self, own: Doubling) -> Doubling:
        """The pauses of a queue: `own`, shortened to the configured maximum."""
        return own if self.max_pause is None else Doubling(min(own.first, self.max_pause), self.max_pause)
