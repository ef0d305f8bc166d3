"""A fence that never opens again once others may have thought that this process is gone.

The Lease of a replica only says that it lives. When it was silent for the whole duration, others may have
taken its shards, which its own Lease does not show: it must begin anew.
"""

from __future__ import annotations

from longshore.machinery.fence import Fence, LeaseTooOld
from longshore.machinery.time.clock import Clock


class UnbrokenFence(Fence):
    """`lease` is the Lease's duration, `seconds` how long one renewal lets writes pass."""

    def __init__(self, clock: Clock, seconds: float, lease: float) -> None:
        super().__init__(clock, seconds)
        self._lease = lease
        self.broken = False

    def renewed(self, sent: float) -> None:
        age = self.age
        if age is not None and age >= self._lease:
            self.broken = True
        super().renewed(sent)

    def check(self) -> None:
        if self.broken:
            raise LeaseTooOld
        super().check()
