"""Stops the writes of a leader whose Lease may have expired, before the leader knows of another leader.

A process that was stopped (SIGSTOP) could write before it renews. So each write checks, by this process's
clock, how long ago the last renewal was sent. Another process can take the Lease only after its whole
duration, counted from then. The fence closes earlier, so that a write that is on its way has time to arrive.
"""

from __future__ import annotations

from longshore.client import Unreachable
from longshore.machinery.time.clock import Clock


class LeaseTooOld(Unreachable):
    """The Lease was not renewed in time. Nothing is written until it is."""

    def __init__(self) -> None:
        super().__init__(self.__doc__)


class Fence:
    """Blocks writes until the first renewal, and from `seconds` after each renewal until the next one."""

    def __init__(self, clock: Clock, seconds: float = 10.0) -> None:
        self._clock, self._seconds = clock, seconds
        self._sent: float | None = None

    def renewed(self, sent: float) -> None:
        """Opens the fence: the Lease was renewed by a request sent at `sent` (monotonic seconds)."""
        self._sent = sent

    def close(self) -> None:
        """Closes the fence, because the Lease was released."""
        self._sent = None

    @property
    def age(self) -> float | None:
        """Seconds since the last renewal was sent; None if there was none."""
        return None if self._sent is None else self._clock.monotonic() - self._sent

    def check(self) -> None:
        """Raises `LeaseTooOld` if a write must not be sent now."""
        age = self.age
        if age is None or age >= self._seconds:
            raise LeaseTooOld
