"""All that `decide` may know of a Job: one immutable picture of one moment.

Whatever a decision depends on is in here, so that a decision can be tested, replayed and explained.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import msgspec

from longshore.api.time.doubling import Doubling
from longshore.api.types import Obj
from longshore.controllers.job.pods.roll import Roll


class BackoffRecord(msgspec.Struct, frozen=True):
    """Failures in a row since a pod last succeeded. Kept in memory only: a restart forgets it."""

    failures: int = 0
    last_failure: float | None = None
    """Seconds since 1970."""


NO_FAILURES: Final = BackoffRecord()
REPLACEMENT_PAUSES: Final = Doubling(10.0, 600.0)
"""How long a replacement waits after failures."""


class View(msgspec.Struct):
    """A Job and its pods, as the caches show them. Objects are frozen.

    Neither this nor what is made of it is ever changed by who gets it. They are no frozen dataclasses because
    those take 2.1 µs to make instead of 0.25, and a sync makes eight.
    """

    job: Obj
    now: float
    """Seconds since 1970."""
    roll: Roll = msgspec.field(default_factory=Roll)
    """The claimed pods, except those that have ended and were counted: nothing depends on them."""
    counted_failures: Sequence[Obj] = ()
    """Failed pods that were counted before: a FailJob rule may still find its evidence among them."""
    patience: float | None = None
    """While pods created or deleted before have not been seen: seconds until they are given up."""
    going: frozenset[str] = frozenset()
    """UIDs of pods whose tracking finalizer was removed although the cache still shows it."""
    backoff: BackoffRecord = NO_FAILURES
    times: Doubling = REPLACEMENT_PAUSES
    next_start: float | None = None
    """When a Job with a start interval may start its next pod; None where nobody remembers."""
    namespace_going: bool = False
    """Whether the namespace was seen to be deleted: there will be no other pod."""

    @property
    def satisfied(self) -> bool:
        """Whether every pod created and deleted before has been seen, so that counts can be trusted."""
        return self.patience is None
