"""A schedule in words: `every day at 02:30`, `every 15 minutes, Monday to Friday`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from longshore.api.cron.schedule import Every, Schedule
from longshore.api.time.zones import Zone

_WEEKDAYS: Final = ("Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday")
_MONTHS: Final = (
    "January", "February", "March", "April", "May", "June", "July", "August", "September", "October",
    "November", "December",
)  # fmt: skip
_ALL_MINUTES: Final = [*range(60)]
_ALL_HOURS: Final = [*range(24)]
_ALL_DAYS: Final = [*range(1, 32)]
_ALL_MONTHS: Final = [*range(1, 13)]
_MAX_TIMES: Final = 4
"""The most times of day that are listed. For more, the text has their hours and minutes."""


def in_words(schedule: Schedule | Every, zone: Zone | None = None) -> str:
    """The schedule in words, and the city of its zone, or else of `zone`."""
    zone = schedule.zone or zone
    where = f", {zone.name.rpartition('/')[2].replace('_', ' ')}" if zone is not None else ""
    if isinstance(schedule, Every):
        return f"every {_span(schedule.seconds)}{where}"
    time, days = _time(schedule), _days(schedule)
    if time.startswith("at "):
        return f"{days or 'every day'} {time}{where}"
    return (f"{time}, {days}" if days else time) + where


def _span(seconds: int) -> str:
    sizes = ((86_400, "day"), (3600, "hour"), (60, "minute"), (1, "second"))
    size, unit = next(one for one in sizes if not seconds % one[0])
    count = seconds // size
    return unit if count == 1 else f"{count} {unit}s"


def _time(schedule: Schedule) -> str:
    """The time of day: begins with `at ` if it names times, else with `every`."""
    minutes, hours = _values(schedule.minutes), _values(schedule.hours)
    if len(minutes) * len(hours) <= _MAX_TIMES:
        return f"at {_listed([f'{hour:02}:{minute:02}' for hour in hours for minute in minutes])}"
    if minutes == _ALL_MINUTES:
        often = "every minute"
    elif step := _step(minutes, 60):
        often = f"every {step} minutes"
    elif hours == _ALL_HOURS or _step(hours, 24):
        step = _step(hours, 24)
        often = f"every {step} hours" if step else "every hour"
        if minutes == [0]:
            return often
        return f"{often} at minute{'s' * (len(minutes) > 1)} {_listed([*map(str, minutes)])}"
    else:
        named = f"at minute{'s' * (len(minutes) > 1)} {_listed([*map(str, minutes)])}"
        if minutes == [0] and _run(hours):
            return f"every hour from {hours[0]:02}:00 to {hours[-1]:02}:00"
        return f"{named} of the hours {_hours(hours)}"
    if hours == _ALL_HOURS:
        return often
    if len(hours) == 1 or _run(hours):
        return f"{often} from {hours[0]:02}:{minutes[0]:02} to {hours[-1]:02}:{minutes[-1]:02}"
    return f"{often} in the hours {_hours(hours)}"


def _hours(hours: Sequence[int]) -> str:
    return f"{hours[0]} to {hours[-1]}" if _run(hours) else _listed([*map(str, hours)])


def _days(schedule: Schedule) -> str:
    """The days; empty if the schedule fires every day."""
    dates, weekdays, months = map(_values, (schedule.days, schedule.weekdays, schedule.months))
    of_months = "" if months == _ALL_MONTHS else _listed([_MONTHS[month - 1] for month in months])
    by_date = "" if dates == _ALL_DAYS else _dates(dates, of_months)
    by_weekday = "" if len(weekdays) == 7 else _of_week(weekdays)
    if by_date and by_weekday:
        both = schedule.days_starred or schedule.weekdays_starred
        return f"{by_date}, if it is {by_weekday}" if both else f"{by_date} and on {by_weekday}"
    if by_date:
        return by_date
    if of_months:
        return f"{by_weekday or 'every day'} in {of_months}"
    return by_weekday


def _dates(dates: Sequence[int], of_months: str) -> str:
    if len(dates) > 2 and _run(dates):
        return f"on days {dates[0]} to {dates[-1]} of {of_months or 'every month'}"
    named = _listed([*map(str, dates)])
    return f"on day{'s' * (len(dates) > 1)} {named} of {of_months or 'every month'}"


def _of_week(weekdays: Sequence[int]) -> str:
    if len(weekdays) > 2 and _run(weekdays):
        return f"{_WEEKDAYS[weekdays[0]]} to {_WEEKDAYS[weekdays[-1]]}"
    # The week begins on Monday: Saturday and Sunday, not Sunday and Saturday.
    named = [_WEEKDAYS[day] for day in sorted(weekdays, key=lambda day: (day - 1) % 7)]
    return f"every {named[0]}" if len(named) == 1 else _listed(named)


def _values(bits: int) -> list[int]:
    return [value for value in range(60) if bits >> value & 1]


def _run(values: Sequence[int]) -> bool:
    """Whether there are several values without a gap."""
    return len(values) > 1 and values[-1] - values[0] == len(values) - 1


def _step(values: Sequence[int], whole: int) -> int:
    """The step if the values are all multiples of a number that divides `whole`; else 0."""
    step = values[1] - values[0] if len(values) > 1 and not values[0] else 0
    return step if step > 1 and not whole % step and [*values] == [*range(0, whole, step)] else 0


def _listed(words: Sequence[str]) -> str:
    return " and ".join(filter(None, (", ".join(words[:-1]), words[-1])))
