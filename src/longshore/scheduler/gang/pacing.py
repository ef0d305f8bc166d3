"""Decides when the gang scheduler runs a cycle: as soon as one is useful. Volcano runs one a second.

Freed room is given away at once. Arriving gangs are gathered until no more arrive for a moment (a second at
most, Volcano's pace): gangs created together are then seen together, and share by their queues and
priorities. Admission does not wait for that: the gate runs at once by itself. Changes that affect only
reports are handled within a second.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from longshore.machinery.time.clock import Clock, Timer

SOON_SECONDS: Final = 0.01
"""Delay in which simultaneous changes are gathered."""
GATHERING_SECONDS: Final = 0.2
LATER_SECONDS: Final = 1.0
PAUSE_SECONDS: Final = 0.01
"""Extra delay, so that a cycle that waits for a deadline runs just after it."""
_REST_FACTOR: Final = 3
"""After a cycle the scheduler rests for this many times its duration."""
_NEVER: Final = float("inf")

_BUSY_CHANGES_PER_SECOND: Final = 50
"""Changes of groups and their pods per second above which traffic is busy."""


class Pace:
    """`cycle` runs everything, `gate` only admits groups. Nothing runs before `start` or after `stop`."""

    def __init__(self, clock: Clock, *, cycle: Callable[[], None], gate: Callable[[], None]) -> None:
        self._clock, self._cycle, self._gate = clock, cycle, gate
        self._full = self._tell = self._gather = self._open = _NEVER
        self._first = self._rested = 0.0
        self._timer: Timer | None = None
        self._at = _NEVER
        self._running = False

    def start(self, *, with_arrival: bool) -> None:
        """Requests the first cycle: at once, or gathering gangs if one arrives just now."""
        self._running = True
        if with_arrival:
            self._full = _NEVER  # its queues and nodes have long been known
            self.arrived()
        else:
            self.room()

    def stop(self) -> None:
        self._running = False
        if self._timer is not None:
            self._timer.cancel()

    def room(self, within: float = SOON_SECONDS) -> None:
        """Requests a cycle, because a task may fit that did not before."""
        self._full = min(self._full, self._clock.monotonic() + within)
        self._arm()

    def arrived(self) -> None:
        """Requests a cycle and the gate, because a gang, or more of it, has arrived."""
        now = self._clock.monotonic()
        if self._gather == _NEVER:
            self._first = now
        self._gather = min(now + GATHERING_SECONDS, self._first + LATER_SECONDS)
        self._open = min(self._open, now + SOON_SECONDS)
        self._arm()

    def announced(self) -> None:
        """Requests the gate for a group without pods, whose pods will follow."""
        now = self._clock.monotonic()
        if self._gather != _NEVER:
            self._gather = min(now + GATHERING_SECONDS, self._first + LATER_SECONDS)
        self._open = min(self._open, now + SOON_SECONDS)
        self._arm()

    def tell(self, within: float = LATER_SECONDS) -> None:
        """Requests a cycle for reports only."""
        self._tell = min(self._tell, self._clock.monotonic() + within)
        self._arm()

    def _arm(self) -> None:
        if not self._running:
            return
        due = max(min(self._full, self._tell, self._gather, self._open), self._rested)
        if due == self._at:
            return
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        self._at = due
        if due != _NEVER:
            self._timer = self._clock.call_later(max(due - self._clock.monotonic(), 0), self._run)

    def _run(self) -> None:
        self._timer, self._at = None, _NEVER
        now = self._clock.monotonic() + 1e-6  # timers may come that much early
        if self._gather != _NEVER and self._tell <= now:
            self._tell = _NEVER  # the cycle for gathered gangs writes the reports
        if min(self._full, self._gather, self._tell) <= now:
            self._full = self._tell = self._gather = self._open = _NEVER
            self._timed(self._cycle)
        elif self._open <= now:
            self._open = _NEVER
            self._timed(self._gate)
        self._arm()

    def _timed(self, run: Callable[[], None]) -> None:
        begun = self._clock.monotonic()
        run()
        ended = self._clock.monotonic()
        self._rested = ended + _REST_FACTOR * (ended - begun)


class Traffic:
    """Counts changes of groups and their pods, anew every `LATER_SECONDS` seconds."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._changes, self._counted, self._busy = 0, clock.monotonic(), False

    def count(self) -> None:
        self._changes += 1

    @property
    def is_busy(self) -> bool:
        """Whether more than 50 groups and pods a second change."""
        now = self._clock.monotonic()
        passed = now - self._counted
        if passed >= LATER_SECONDS:
            self._busy = self._changes > _BUSY_CHANGES_PER_SECOND * passed
            self._changes, self._counted = 0, now
        return self._busy
