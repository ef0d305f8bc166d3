"""Upcoming runs of a schedule, each with the clock change (such as DST) before it. Pure."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Final, NamedTuple, TypeAlias

from longshore.api import cron
from longshore.api.time.instants import Instant
from longshore.machinery.sentences import span

SECOND: Final = 1_000_000_000
Next: TypeAlias = Callable[[Instant], Instant | None]

_EPOCH: Final = datetime(1970, 1, 1)
_DAYS: Final = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
_MAX_SHOWN: Final = 3
"""The number of skipped times that are named; the rest are counted."""


class UpcomingRun(NamedTuple):
    """An upcoming run, and a note about a clock change since the run before; empty without one."""

    at: Instant
    note: str = ""


def runs(
    schedule: cron.Schedule | cron.Every, zone: cron.Zone, following: Next, after: Instant, count: int
) -> list[UpcomingRun]:
    """Returns the next `count` runs after `after`; fewer if there are no more within five years."""
    found: list[UpcomingRun] = []
    before = after
    while len(found) < count and (at := following(before)) is not None:
        found.append(UpcomingRun(at, _note(schedule, zone, before, at)))
        before = at
    return found


def _note(schedule: cron.Schedule | cron.Every, zone: cron.Zone, before: Instant, at: Instant) -> str:
    old, new = zone.offset(before // SECOND), zone.offset(at // SECOND)
    said = []
    if new != old:
        said.append(f"clocks went {'forward' if new > old else 'back'} {span(abs(new - old))}")
    if isinstance(schedule, cron.Schedule):
        wall, was = at // SECOND + new, before // SECOND + old
        if wall <= was and new < old:
            said.append("this time of day comes twice")
        if skipped := _skipped(schedule, was, wall):
            said.append(f"skipped: {skipped}")
    return "; ".join(said)


def _skipped(schedule: cron.Schedule, was: int, wall: int) -> str:
    """Returns the local times between two runs at which the schedule would fire if clocks never changed."""
    plain = schedule._replace(zone=None)
    named: list[str] = []
    more = 0
    at = plain.next(was * SECOND, cron.UTC)
    while at is not None and at < wall * SECOND and more < 1000:
        if len(named) < _MAX_SHOWN:
            named.append(_face(at // SECOND))
        else:
            more += 1
        at = plain.next(at, cron.UTC)
    return ", ".join(named) + (f" and {more} more" if more else "")


def shown(at: Instant, zone: cron.Zone) -> str:
    """Formats the time in this zone: `Mon 2026-11-16 02:30 +01:00`."""
    offset = zone.offset(at // SECOND)
    minutes = abs(offset) // 60
    sign = "-" if offset < 0 else "+"
    return f"{_face(at // SECOND + offset)} {sign}{minutes // 60:02d}:{minutes % 60:02d}"


def _face(wall: int) -> str:
    moment = _EPOCH + timedelta(seconds=wall)
    text = f"{_DAYS[moment.weekday()]} {moment:%Y-%m-%d %H:%M}"
    return f"{text}:{moment:%S}" if moment.second else text
