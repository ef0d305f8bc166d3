"""How much controllers do at a time, and how soon they try again: the limits that a person may set."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from longshore.api.time.doubling import Doubling


class WorkLimits(msgspec.Struct, frozen=True):
    """The limits of all controllers of one process."""

    workers: Mapping[str, int] = msgspec.field(default_factory=dict)
    """Objects looked at side by side, by the controller's name; the others have numbers of their own."""
    resync: float | None = None
    """Seconds after which every object is looked at once more without a change; None never does."""
    max_pause: float | None = None
    """The longest pause, in seconds, before an object that failed is tried again; None leaves it to each
    controller."""
    rate: float = 10.0
    """Tries of failed objects a second, all objects of one controller together; upstream's number."""
    burst: int = 100
    """Tries of failed objects that need not wait for their turn; upstream's number."""
    max_requeues: int = 15
    """Refusals in a row after which Volcano's controllers give up; below zero they never do. Upstream's
    number."""

    def gives_up(self, refusals: int) -> bool:
        """Whether so many refusals in a row are too many."""
        return 0 <= self.max_requeues < refusals

    def pauses(self, own: Doubling) -> Doubling:
        """The pauses of a queue that would have its own."""
        return own if self.max_pause is None else Doubling(min(own.first, self.max_pause), self.max_pause)
