"""The search for the next activation, step by step as Kubernetes' cron library makes it.

The steps are part of the contract: around clock changes they decide which runs are skipped or run twice.
Steps of months and days keep the time on the wall clock; steps of hours and minutes are elapsed time. When a
unit starts over, all units are checked again. A schedule that never fires is recognised beforehand, and a day
that does not exist at all is stepped over, so every search ends soon.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Final, NamedTuple

from longshore.api.time.instants import Instant
from longshore.api.time.zones import Zone

SECOND: Final = 1_000_000_000

_MINUTE_SECONDS: Final = 60
_HOUR_SECONDS: Final = 3_600
_DAY_SECONDS: Final = 86_400
_HORIZON_YEARS: Final = 5  # years
_QUIET_SECONDS: Final = 26 * _HOUR_SECONDS
"""No offset exceeds this, so this far from a change every wall clock is unambiguous."""


class Every(NamedTuple):
    """A fixed delay in whole seconds, counted from the instant given to `next`."""

    seconds: int
    zone: Zone | None = None

    def next(self, after: Instant, zone: Zone) -> Instant:
        return (after // SECOND + self.seconds) * SECOND


class Schedule(NamedTuple):
    """Five sets of values, each as the bits of an integer. `zone` is that of a `TZ=` prefix; without one, the
    schedule is read in the zone given to `next`."""

    minutes: int
    hours: int
    days: int
    months: int
    weekdays: int
    days_starred: bool
    weekdays_starred: bool
    zone: Zone | None = None

    def next(self, after: Instant, zone: Zone) -> Instant | None:
        """The first activation later than `after`; None when there is none within five years."""
        at = _search(self, after // SECOND + 1, self.zone or zone)
        return None if at is None else at * SECOND

    def can_fire(self) -> bool:
        """False if a field matches nothing, such as one of commas alone; upstream would try every minute."""
        either = self.days or self.weekdays
        both = self.days and self.weekdays
        day = both if self.days_starred or self.weekdays_starred else either
        return bool(self.minutes and self.hours and self.months and day)

    def matches_day(self, day: int, weekday: int) -> bool:
        """Whether a day matches by date and weekday or, if neither field is a star, by one of them."""
        by_date = self.days >> day & 1
        by_weekday = self.weekdays >> weekday & 1
        if self.days_starred or self.weekdays_starred:
            return bool(by_date and by_weekday)
        return bool(by_date or by_weekday)


class _Cursor:
    """A moving instant (in seconds) that knows its wall clock."""

    __slots__ = ("_from", "_offset", "_until", "at", "zone")

    def __init__(self, at: int, zone: Zone) -> None:
        self.zone = zone
        self._from = self._until = self._offset = 0
        self.move(at)

    def move(self, at: int) -> None:
        self.at = at
        if not self._from <= at < self._until:
            self._from, self._until, self._offset = self.zone.span(at)

    def step(self, unit: int, times: int) -> None:
        """Makes several steps of elapsed time at once; only one if the clocks change on the way."""
        ahead = self.at + unit * times
        self.move(ahead if ahead < self._until else self.at + unit)

    @property
    def wall(self) -> int:
        return self.at + self._offset

    def set_wall(self, wall: int) -> None:
        self.move(self.zone.from_wall(wall))

    def next_day(self) -> None:
        """Moves to the next day of the calendar and keeps the wall clock's time."""
        ahead = self.at + _DAY_SECONDS
        if self._from + _QUIET_SECONDS <= self.at and ahead + _QUIET_SECONDS < self._until:
            self.at = ahead
        else:
            self.set_wall(self.wall + _DAY_SECONDS)


@lru_cache(maxsize=16384)  # one sync of a CronJob repeats the question, and so does the next sync
def _search(schedule: Schedule, start: int, zone: Zone) -> int | None:
    if not schedule.can_fire():
        return None
    cursor = _Cursor(start, zone)
    last_year = civil(cursor.wall // _DAY_SECONDS)[0] + _HORIZON_YEARS
    rounded = False  # smaller units are set to zero once, when the first step is made
    while True:
        if civil(cursor.wall // _DAY_SECONDS)[0] > last_year:
            return None
        rounded, wrapped = _find_month(schedule, cursor, rounded)
        if wrapped:
            continue
        rounded, wrapped = _find_day(schedule, cursor, rounded)
        if wrapped:
            continue
        rounded, wrapped = _find_time(schedule, cursor, rounded)
        if not wrapped:
            return cursor.at


def _find_month(schedule: Schedule, cursor: _Cursor, rounded: bool) -> tuple[bool, bool]:
    """Steps to a month that matches. The second value is True if a year began meanwhile."""
    year, month, day = civil(cursor.wall // _DAY_SECONDS)
    while not schedule.months >> month & 1:
        if not rounded:
            rounded = True
            cursor.set_wall(ordinal(year, month, 1) * _DAY_SECONDS)
            # The evening before, in the month before, where the first midnight does not exist.
            year, month, day = civil(cursor.wall // _DAY_SECONDS)
        year, month = (year, month + 1) if month < 12 else (year + 1, 1)
        cursor.set_wall((ordinal(year, month, 1) + day - 1) * _DAY_SECONDS + cursor.wall % _DAY_SECONDS)
        year, month, day = civil(cursor.wall // _DAY_SECONDS)
        if month == 1:
            return rounded, True
    return rounded, False


def _find_day(schedule: Schedule, cursor: _Cursor, rounded: bool) -> tuple[bool, bool]:
    """Steps to a day that matches. The second value is True if a month began meanwhile."""
    days = cursor.wall // _DAY_SECONDS
    while not schedule.matches_day(civil(days)[2], (days + 4) % 7):
        if not rounded:
            rounded = True
            cursor.set_wall(days * _DAY_SECONDS)
        before = cursor.at
        cursor.next_day()
        hour = cursor.wall % _DAY_SECONDS // _HOUR_SECONDS
        if hour:  # midnight does not exist today
            cursor.move(cursor.at + (24 - hour if hour > 12 else -hour) * _HOUR_SECONDS)
        if cursor.at <= before:  # the day does not exist; upstream never gets past it
            cursor.move(before + _DAY_SECONDS)
        days = cursor.wall // _DAY_SECONDS
        if civil(days)[2] == 1:
            return rounded, True
    return rounded, False


def _find_time(schedule: Schedule, cursor: _Cursor, rounded: bool) -> tuple[bool, bool]:
    """Steps to an hour, minute and second that match. The second value is True if a larger unit began
    meanwhile."""
    while not schedule.hours >> (cursor.wall % _DAY_SECONDS // _HOUR_SECONDS) & 1:
        if not rounded:
            rounded = True
            cursor.set_wall(cursor.wall // _HOUR_SECONDS * _HOUR_SECONDS)
        cursor.step(_HOUR_SECONDS, _distance(schedule.hours, cursor.wall % _DAY_SECONDS // _HOUR_SECONDS, 24))
        if cursor.wall % _DAY_SECONDS < _HOUR_SECONDS:
            return rounded, True
    while not schedule.minutes >> (cursor.wall % _HOUR_SECONDS // _MINUTE_SECONDS) & 1:
        if not rounded:
            rounded = True
            cursor.move(
                cursor.at // _MINUTE_SECONDS * _MINUTE_SECONDS
            )  # of UTC, which few zones tell from their own
        cursor.step(
            _MINUTE_SECONDS, _distance(schedule.minutes, cursor.wall % _HOUR_SECONDS // _MINUTE_SECONDS, 60)
        )
        if cursor.wall % _HOUR_SECONDS < _MINUTE_SECONDS:
            return rounded, True
    if cursor.wall % _MINUTE_SECONDS:
        cursor.move(cursor.at + _MINUTE_SECONDS - cursor.wall % _MINUTE_SECONDS)
        return True, True
    return rounded, False


def _distance(bits: int, value: int, size: int) -> int:
    """The steps from a value to the next one in the set, or to the end of the unit."""
    ahead = bits >> (value + 1)
    return (ahead & -ahead).bit_length() if ahead else size - value


def civil(days: int) -> tuple[int, int, int]:
    """Year, month and day of a number of days since 1970. Years count from 1 March inside, so that the
    leap day is the last of its year."""
    days += 719_468
    era, day = divmod(days, 146_097)
    year = (day - day // 1_460 + day // 36_524 - day // 146_096) // 365
    day -= 365 * year + year // 4 - year // 100
    month = (5 * day + 2) // 153
    year += era * 400
    return (
        year + (month >= 10),
        month + 3 if month < 10 else month - 9,
        day - (153 * month + 2) // 5 + 1,
    )


def ordinal(year: int, month: int, day: int) -> int:
    """Days since 1970 of a date."""
    if month <= 2:
        year -= 1
    era, of_era = divmod(year, 400)
    of_year = (153 * (month - 3 if month > 2 else month + 9) + 2) // 5 + day - 1
    return era * 146_097 + of_era * 365 + of_era // 4 - of_era // 100 + of_year - 719_468
