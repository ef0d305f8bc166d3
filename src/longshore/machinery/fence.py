"""Stops the writes of a leader whose Lease is too old, before it knows whether somebody else leads.

A process that was stopped and continued finds its next write due before its next renewal. So each write asks
the clock of this process how long ago the last renewal was sent. Nobody else can have the Lease before its
whole duration is over, counted from then. The fence closes earlier, so that a write on its way has time to
arrive.
"""

from __future__ import annotations

from longshore.client import Unreachable
from longshore.machinery.time.clock import Clock


class LeaseTooOld(Unreachable):
    """The Lease was not renewed in time. Nothing is written until it is."""

    def __init__(self) -> None:
        super().__init__(self.__doc__)


class Fence:
    """Closed until the first renewal. `seconds` is how long one renewal lets writes pass."""

    def __init__(self, clock: Clock, seconds: float = 10.0) -> None:
        self._clock, self._seconds = clock, seconds
        self._sent: float | None = None

    def renewed(self, sent: float) -> None:
        """The Lease was renewed, by a request that was sent at this time of the monotonic clock."""
        self._sent = sent

    @property
    def age(self) -> float | None:
        """Seconds since the last renewal was sent; None when there was none."""
        return None if self._sent is None else self._clock.monotonic() - self._sent

    def check(self) -> None:
        """Raises `LeaseTooOld` when a write must not be sent now."""
        age = self.age
        if age is None or age >= self._seconds:
            raise LeaseTooOld
