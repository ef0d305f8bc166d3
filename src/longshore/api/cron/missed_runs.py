"""The run of a CronJob that is due, and whether too many were missed; when to look again.

Only the most recent missed run counts. It is found by an estimate that takes the first two runs as the rhythm
of all, so an irregular schedule can lose some; Kubernetes does the same.
"""

from __future__ import annotations

from typing import Final, Literal, NamedTuple

from longshore.api.cron.schedule import SECOND, Every, Schedule
from longshore.api.time.instants import Instant
from longshore.api.time.zones import Zone

Missed = Literal["none", "few", "many"]

_MANY_MISSED_RUNS: Final = 100
_WAKE_UP_DELAY_NANOSECONDS: Final = 100_000_000
"""Added to every wake-up, so that a clock that runs a little behind does not wake up too early."""
_MAX_NANOSECONDS: Final = 2**63 - 1


class NeverFires(Exception):
    """time difference between two schedules is less than 1 second"""

    def __str__(self) -> str:
        return str(self.__doc__)


class Outlook(NamedTuple):
    """The result of the search. If exactly one start is due, `missed` is `none` and `at` is set."""

    earliest: Instant
    at: Instant | None
    missed: Missed

    @property
    def due(self) -> tuple[Instant | None, bool]:
        """The activation to start a Job for now, if any, and whether to warn that too many were missed."""
        return self.at, self.at is not None and self.missed == "many"


def most_recent(
    schedule: Schedule | Every,
    zone: Zone,
    now: Instant,
    *,
    created: Instant,
    last: Instant | None,
    deadline: int | None,
) -> Outlook:
    """The last activation up to `now`, but after `last` (or after `created`, before the first run) and no
    older than `deadline` seconds. Raises NeverFires."""
    earliest = created if last is None else last
    if deadline is not None:
        earliest = max(earliest, now - deadline * SECOND)
    first = schedule.next(earliest, zone)
    if first is None:  # upstream goes on from the year 1, and for a leap day finds no end
        raise NeverFires
    if now < first:
        return Outlook(earliest, None, "none")
    second = schedule.next(first, zone)
    if second is None:
        raise NeverFires
    if now < second:
        return Outlook(earliest, first, "none")
    gap = (second - first) // SECOND
    starts = min(now - first, _MAX_NANOSECONDS) // SECOND // gap + 1
    at = None
    probe = schedule.next(first + (starts - 2) * gap * SECOND, zone)
    while probe is not None and probe <= now:
        at = probe
        probe = schedule.next(probe, zone)
    return Outlook(earliest, at, "many" if starts > _MANY_MISSED_RUNS else "few")


def requeue_after(
    schedule: Schedule | Every, zone: Zone, now: Instant, *, created: Instant, last: Instant | None
) -> int | None:
    """Nanoseconds until the next sync is due; None when no activation will ever be due."""
    try:
        found = most_recent(schedule, zone, now, created=created, last=last, deadline=None)
    except NeverFires:
        base = now
    else:
        if found.at is not None:
            base = found.at
        else:
            base = found.earliest if found.missed == "none" else now
    at = schedule.next(base, zone)
    return None if at is None else at + _WAKE_UP_DELAY_NANOSECONDS - now
