"""Detects when the machine's clock is set, or the machine sleeps.

Timers count running time: after a laptop slept for eight hours they would fire eight hours late. So the clock
is checked every few seconds. If it differs from the time that has passed, all objects with timers are synced.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, NamedTuple

from longshore.api.time import instants
from longshore.api.time.instants import SECOND, Instant
from longshore.machinery.time.clock import Clock

GLANCE_SECONDS: Final = 5.0
_SET_SECONDS: Final = 1.0
"""A larger difference between two checks means that the clock was set; a smaller one is slewing."""
_AWAY_SECONDS: Final = 5.0
"""If a check is later than this, the machine slept, or was much too busy."""


class Outage(NamedTuple):
    """A time in which no run could start: longshore did not run, or the machine slept."""

    since: Instant | None
    """None if the outage began before longshore started: the end of the previous run is not known."""
    until: Instant


class WallClock:
    """Knows the latest outage, and the last time the clock was set back. The time before its creation is an
    outage."""

    def __init__(self, clock: Clock, *, glance: float = GLANCE_SECONDS) -> None:
        self._clock, self._glance = clock, glance
        self._seen, self._ran = self.now(), clock.monotonic()
        self.steady_since: Instant = self._seen
        self.outage = Outage(None, self._seen)

    def now(self) -> Instant:
        return instants.of(self._clock.now())

    async def run(self, changed: Callable[[bool], None]) -> None:
        """Calls `changed` when the clock was set, with True after an outage, until cancelled."""
        self._seen, self._ran = self.now(), self._clock.monotonic()
        while True:
            self.look(changed, await self._clock.glance(self._glance))

    def look(self, changed: Callable[[bool], None], meant: float | None = None) -> None:
        """Checks the clock once. `meant` is the planned number of seconds since the last check."""
        now, ran = self.now(), self._clock.monotonic()
        passed, was_running = (now - self._seen) / SECOND, ran - self._ran
        meant = self._glance if meant is None else meant
        away = passed > meant + _AWAY_SECONDS
        if away:
            self.outage = Outage(self._seen + round(max(meant - self._glance, 0.0) * SECOND), now)
        if passed < was_running - _SET_SECONDS:
            self.steady_since = now
        if away or abs(passed - was_running) > _SET_SECONDS:
            changed(away)
        self._seen, self._ran = now, ran
