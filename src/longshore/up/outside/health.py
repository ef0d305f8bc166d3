"""Whether controllers outside are well: `/healthz` says who should be restarted, `/readyz` who does its work.

A process that waits for the Lease is ready: it is there to take over. One that leads is ready when its caches
are filled, each watch was served lately, and the Lease is renewed. It is unhealthy only when it leads and its
Lease is so old that it should have ended by itself: an API server that is away is no reason for a restart.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Final, NamedTuple

from longshore.machinery.fence import Fence
from longshore.machinery.informers.shared import Informers

STUCK_LEASE_SECONDS: Final = 60.0
LATE_LEASE_SECONDS: Final = 10.0
LATE_WATCH_SECONDS: Final = 120.0
"""A watch that fell silent is noticed after 90 s; pauses between tries are up to 30 s."""


class Check(NamedTuple):
    well: bool
    text: str


class Health:
    """`fence` is None where nobody elects a leader. `others` have checks of their own for `/readyz`."""

    def __init__(
        self, informers: Informers, fence: Fence | None, *others: Callable[[], Iterable[Check]]
    ) -> None:
        self._informers, self._fence, self._others = informers, fence, others

    def healthy(self) -> list[Check]:
        return [*self._lease(STUCK_LEASE_SECONDS)]

    def ready(self) -> list[Check]:
        checks = [*self._lease(LATE_LEASE_SECONDS), *self._watches()]
        return checks + [check for other in self._others for check in other()]

    @property
    def filled(self) -> bool:
        """Whether something is followed and every cache holds all there was at the first look."""
        watches = self._informers.watches()
        return bool(watches) and all(watch.is_filled for watch in watches)

    def _lease(self, limit: float) -> Iterator[Check]:
        if self._fence is None:
            return
        age = self._fence.age
        if age is None:
            yield Check(True, "lease: waiting for it")
        else:
            yield Check(age < limit, f"lease: renewed {age:.0f} s ago")

    def _watches(self) -> Iterator[Check]:
        for watch in self._informers.watches():
            if not watch.is_filled:
                yield Check(False, f"{watch.name}: not read yet")
            elif watch.silence:
                late = watch.silence >= LATE_WATCH_SECONDS
                yield Check(not late, f"{watch.name}: last served {watch.silence:.0f} s ago")
            else:
                yield Check(True, f"{watch.name}: followed")


def page(checks: list[Check]) -> tuple[int, bytes]:
    """The status code and the text: a line for each check, as the API server's own pages have."""
    lines = [f"[{'+' if check.well else '-'}]{check.text}\n" for check in checks]
    well = all(check.well for check in checks)
    return 200 if well else 503, "".join([*lines, "ok" if well else "failed"]).encode()
