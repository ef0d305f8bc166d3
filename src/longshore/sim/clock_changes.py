"""Runs that a schedule leaves out, or has twice, because clocks are set forward or back. Pure.

Such runs are not skipped: the schedule itself has no such time, as with Kubernetes. They are reported to help
people plan a night.
"""

from __future__ import annotations

from collections.abc import Iterator, Set
from datetime import UTC, datetime
from typing import Final

from longshore.api import cron
from longshore.api.time.instants import SECOND


def told(schedule: cron.Schedule, zone: cron.Zone, start: int, end: int, ran: Set[int]) -> Iterator[str]:
    """Says what changes of the clock between two moments (in seconds since 1970) do to a schedule; `ran` are
    the times at which it did run."""
    zone = schedule.zone or zone
    for at, gap in _changes(zone, start, end):
        before = zone.offset(at - 1)
        if gap > 0:
            missing = _times(schedule._replace(zone=_UTC), _UTC, at + before, at + before + gap)
            # An hourly schedule runs in the hour after the change: none of its runs is missed.
            if missing and not _times(schedule, zone, at, at + gap):
                yield f"does not run at {_spoken(missing[0])}: clocks go forward over it ({zone.name})"
        else:
            walls = [t + zone.offset(t) for t in _times(schedule, zone, at + gap, at - gap) if t in ran]
            twice = [wall for wall in walls if walls.count(wall) > 1]
            # An hourly schedule runs in the hour before, too, and in every other.
            if twice and not _times(schedule, zone, at + 2 * gap, at + gap):
                yield f"runs twice at {_spoken(twice[0])}: clocks go back over it ({zone.name})"


def _changes(zone: cron.Zone, start: int, end: int) -> Iterator[tuple[int, int]]:
    """Moments at which the clock is changed, and by how many seconds."""
    at, before = start, zone.offset(start)
    while (at := zone.span(at)[1]) < end:
        if gap := zone.offset(at) - before:
            yield at, gap
            before += gap


def _times(schedule: cron.Schedule, zone: cron.Zone, start: int, end: int) -> list[int]:
    found, at = [], schedule.next(start * SECOND - 1, zone)
    while at is not None and at < end * SECOND:
        found.append(at // SECOND)
        at = schedule.next(at, zone)
    return found


def _spoken(wall: int) -> str:
    return f"{datetime.fromtimestamp(wall, UTC):%d %b %H:%M}"


_UTC: Final = cron.load("UTC")
