"""The input of `decide` about a Job: an immutable snapshot.

It holds everything that a decision depends on, so that decisions can be tested, replayed and explained.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import msgspec

from longshore.api.time.backoff import Doubling
from longshore.api.types import Obj
from longshore.controllers.job.pods.roll import Roll


class BackoffRecord(msgspec.Struct, frozen=True):
    """Consecutive failures since the last success. Kept in memory only: a restart forgets it."""

    failures: int = 0
    recent: tuple[float, ...] = ()
    """Finish times of the latest failures, in order, in seconds since 1970."""
    last_success: float | None = None
    """Finish time of the latest success. Failures that ended before it do not count, even if seen later."""


NO_FAILURES: Final = BackoffRecord()
REPLACEMENT_PAUSES: Final = Doubling(10.0, 600.0)
"""Delays before a replacement, doubling from 10 s to 10 minutes."""


class JobView(msgspec.Struct):
    """A Job and its pods, as the caches show them. Objects are frozen.

    The view and the plans made from it must not be changed. They are no frozen dataclasses because those take
    2.1 µs to make instead of 0.25, and a sync makes eight."""

    job: Obj
    now: float
    """Seconds since 1970."""
    roll: Roll = msgspec.field(default_factory=Roll)
    """The claimed pods, except those that have ended and were counted, which no decision needs."""
    counted_failures: Sequence[Obj] = ()
    """Failed pods that are already counted: a FailJob rule may still match one of them."""
    patience: float | None = None
    """Seconds until expected pod creations and deletions are given up; None if all were seen."""
    going: frozenset[str] = frozenset()
    """UIDs of pods whose tracking finalizer was removed while the cache still shows it."""
    backoff: BackoffRecord = NO_FAILURES
    times: Doubling = REPLACEMENT_PAUSES
    next_start: float | None = None
    """When a Job with a start interval may start its next pod; None if unknown, as after a restart."""
    namespace_going: bool = False
    """Whether the namespace is being deleted, so that no pod can be created."""

    @property
    def satisfied(self) -> bool:
        """Whether all expected creations and deletions of pods were seen, so that counts can be trusted."""
        return self.patience is None
