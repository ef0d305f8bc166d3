"""CronJobs as lines: the schedule in words, the last result, the next run and a strip of the last twenty."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from longshore.api import cron
from longshore.api.cron.schedule import Every, Schedule
from longshore.api.time import rfc3339
from longshore.api.time.instants import Instant
from longshore.api.time.zones import Zone
from longshore.api.types import Obj
from longshore.cli.commands.history import Row, order
from longshore.cli.printing.columns import Columns
from longshore.cli.running.report_lines import span
from longshore.controllers.cronjob import timing
from longshore.controllers.scheduled.upcoming_runs import shown
from longshore.controllers.scheduled.view import ScheduledView

_STRIP_RUNS: Final = 20
_MARKS: Final = {"complete": ".", "failed": "x", "deleted": "-", "suspended": "s", "running": ">"}
LEGEND: Final = "RUNS: . complete, x failed, > running, s suspended, - deleted; the newest on the right"


@dataclass(frozen=True, slots=True)
class CronJobLine:
    """One CronJob with its runs, the oldest first."""

    cronjob: Obj
    words: str
    """The schedule in words, or what is wrong with it."""
    next: Instant | None
    """None if no run is to come: it is paused, or never fires."""
    zone: cron.Zone
    runs: Sequence[Row]

    def cells(self, *, with_namespace: bool) -> list[str]:
        meta = self.cronjob["metadata"]
        last = self.runs[-1] if self.runs else None
        paused = self.cronjob["spec"].get("suspend")
        coming = "paused" if paused else shown(self.next, self.zone) if self.next is not None else "never"
        named = [meta["namespace"]] if with_namespace else []
        strip = "".join(_MARKS.get(run.result, "?") for run in self.runs)
        return [*named, meta["name"], self.words, _last(last), coming, strip]

    def document(self) -> dict[str, Any]:
        meta, spec = self.cronjob["metadata"], self.cronjob["spec"]
        return {
            "name": meta["name"],
            "namespace": meta["namespace"],
            "schedule": spec["schedule"],
            "timeZone": spec.get("timeZone"),
            "words": self.words,
            "paused": bool(spec.get("suspend")),
            "next": None if self.next is None else rfc3339.from_instant(self.next),
            "runs": [run.document() for run in self.runs],
        }


def _last(run: Row | None) -> str:
    if run is None:
        return "none yet"
    if run.ended is None:
        return f"{run.result} for {span(time.time() - run.begun)}"
    begun = time.strftime("%Y-%m-%d %H:%M", time.localtime(run.begun))
    return f"{run.result} {begun}, took {span(run.ended - run.begun)}"


def lines(cronjobs: Iterable[Obj], runs: Iterable[Row], now: Instant, local: cron.Zone) -> list[CronJobLine]:
    """The CronJobs with their runs, in the order of the CronJobs."""
    of_cronjob: dict[tuple[str, str], list[Row]] = {}
    for run in sorted(runs, key=order):
        of_cronjob.setdefault((run.namespace, run.owner), []).append(run)
    return [_line(obj, of_cronjob, now, local) for obj in cronjobs]


def _line(obj: Obj, runs: Mapping[tuple[str, str], list[Row]], now: Instant, local: cron.Zone) -> CronJobLine:
    meta, spec = obj["metadata"], obj["spec"]
    mine = runs.get((meta["namespace"], f"CronJob/{meta['name']}"), [])[-_STRIP_RUNS:]
    try:
        named = cron.load(spec["timeZone"]) if spec.get("timeZone") else None
        schedule = cron.parse(spec["schedule"])
        when = timing.of(
            ScheduledView(obj, now, zone=local, steady_since=now),
            obj,
            cron.parse_in_zone(spec["schedule"], spec.get("timeZone")),
        )
        coming = None if spec.get("suspend") else when.next(max(when.now, when.base))
    except (cron.UnknownZone, cron.ScheduleError, cron.NeverFires) as err:
        return CronJobLine(obj, f"{spec['schedule']}: {err}", None, local, mine)
    return CronJobLine(obj, in_words(schedule, named), coming, when.shown_in, mine)


def table(found: Sequence[CronJobLine], *, with_namespace: bool) -> str:
    head = [*["NAMESPACE"] * with_namespace, "NAME", "SCHEDULE", "LAST RUN", "NEXT RUN", "RUNS"]
    return Columns().lines([head, *(line.cells(with_namespace=with_namespace) for line in found)])


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
