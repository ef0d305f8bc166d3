"""Reads schedules: five fields or a descriptor, optionally behind `TZ=` or `CRON_TZ=`.

The dialect is that of Kubernetes' cron library, and so are the error texts. There is no seconds
field, no `L`, `W` or `#`, no Sunday as 7, and ranges do not wrap around.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final, NamedTuple

from longshore.api.cron.schedule import SECOND, Every, Schedule
from longshore.api.field import quoted
from longshore.api.time import durations, zones

_MONTHS: Final = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_WEEKDAYS: Final = ("sun", "mon", "tue", "wed", "thu", "fri", "sat")
_SPACE: Final = "\t\n\v\f\r \x85\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000"  # as Go has it
_blanks: Final = re.compile(f"[{_SPACE}]+")
_edges: Final = re.compile(rf"\A[{_SPACE}]+|[{_SPACE}]+\Z")
_integer: Final = re.compile(r"[+-]?[0-9]+", re.ASCII).fullmatch
_MAX_INT64: Final = 2**63 - 1


class ScheduleError(ValueError):
    """The schedule cannot be read; the message is the one Kubernetes gives."""


class _Field(NamedTuple):
    low: int
    high: int
    names: dict[str, int]


_FIELDS: Final = (
    _Field(0, 59, {}),
    _Field(0, 23, {}),
    _Field(1, 31, {}),
    _Field(1, 12, {name: i + 1 for i, name in enumerate(_MONTHS)}),
    _Field(0, 6, {name: i for i, name in enumerate(_WEEKDAYS)}),
)
_DESCRIPTORS: Final = {
    "@yearly": "0 0 1 1 *",
    "@annually": "0 0 1 1 *",
    "@monthly": "0 0 1 * *",
    "@weekly": "0 0 * * 0",
    "@daily": "0 0 * * *",
    "@midnight": "0 0 * * *",
    "@hourly": "0 * * * *",
}
_EVERY_PREFIX: Final = "@every "


@lru_cache(maxsize=4096)  # each CronJob is asked about at every sync, and its schedule hardly changes
def parse(spec: str) -> Schedule | Every:
    """Parses a schedule. Raises ScheduleError."""
    if not spec:
        raise ScheduleError("empty spec string")
    zone: zones.Zone | None = None
    if spec.startswith(("TZ=", "CRON_TZ=")):
        prefix, space, rest = spec.partition(" ")
        if not space:  # a crash of the library, which Kubernetes reports in these words
            raise ScheduleError("invalid schedule format: runtime error: slice bounds out of range [:-1]")
        zone = _zone(prefix.partition("=")[2])
        spec = _edges.sub("", rest)
    if spec.startswith("@"):
        return _descriptor(spec, zone)
    return _five_fields([f for f in _blanks.split(spec) if f], zone)


def parse_in_zone(spec: str, time_zone: str | None) -> Schedule | Every:
    """The schedule as the CronJob controller reads it: in `time_zone`, if that exists and the schedule has no
    zone of its own. Raises ScheduleError."""
    if time_zone is not None and "TZ" not in spec:
        try:
            zones.load(time_zone)
        except zones.UnknownZone:
            return parse(spec)
        return parse(f"TZ={time_zone} {spec}")
    return parse(spec)


def _zone(name: str) -> zones.Zone | None:
    if name == "Local":
        return None
    try:
        return zones.load(name)
    except zones.UnknownZone as problem:
        raise ScheduleError(f"provided bad location {name}: {problem}") from None


def _descriptor(spec: str, zone: zones.Zone | None) -> Schedule | Every:
    if spec in _DESCRIPTORS:
        return _five_fields(_DESCRIPTORS[spec].split(), zone)
    if spec.startswith(_EVERY_PREFIX):
        try:
            delay = durations.parse(spec[len(_EVERY_PREFIX) :])
        except ValueError as problem:
            raise ScheduleError(f"failed to parse duration {spec}: {problem}") from None
        return Every(max(delay // SECOND, 1), zone)
    raise ScheduleError(f"unrecognized descriptor: {spec}")


def _five_fields(texts: list[str], zone: zones.Zone | None) -> Schedule:
    if len(texts) != len(_FIELDS):
        raise ScheduleError(f"expected exactly 5 fields, found {len(texts)}: [{' '.join(texts)}]")
    read = [_field(text, field) for text, field in zip(texts, _FIELDS, strict=True)]
    (minutes, _), (hours, _), (days, any_day), (months, _), (weekdays, any_weekday) = read
    return Schedule(minutes, hours, days, months, weekdays, any_day, any_weekday, zone)


def _field(text: str, field: _Field) -> tuple[int, bool]:
    """The values of a comma list as bits, and whether some element was a plain star."""
    bits, starred = 0, False
    for element in text.split(","):
        if element:
            more, star = _element(element, field)
            bits |= more
            starred = starred or star
    return bits, starred


def _element(text: str, field: _Field) -> tuple[int, bool]:
    base, *steps = text.split("/")
    ends = base.split("-")
    starred = ends[0] in ("*", "?")
    if starred:
        first, last = field.low, field.high
    else:
        first = last = _value(ends[0], field.names)
        if len(ends) == 2:
            last = _value(ends[1], field.names)
        elif len(ends) > 2:
            raise ScheduleError(f"too many hyphens: {text}")
    step = 1
    if len(steps) == 1:
        step = _number(steps[0])
        if len(ends) == 1:  # `5/15` begins at 5 and goes on to the end
            last = field.high
    elif steps:
        raise ScheduleError(f"too many slashes: {text}")
    if first < field.low:
        raise ScheduleError(f"beginning of range ({first}) below minimum ({field.low}): {text}")
    if last > field.high:
        raise ScheduleError(f"end of range ({last}) above maximum ({field.high}): {text}")
    if first > last:
        raise ScheduleError(f"beginning of range ({first}) beyond end of range ({last}): {text}")
    if step == 0:
        raise ScheduleError(f"step of range should be a positive number: {text}")
    return sum(1 << value for value in range(first, last + 1, step)), starred and step == 1


def _value(text: str, names: dict[str, int]) -> int:
    named = names.get(text.lower())
    return _number(text) if named is None else named


def _number(text: str) -> int:
    if not _integer(text):
        raise ScheduleError(
            f"failed to parse int from {text}: strconv.Atoi: parsing {quoted(text)}: invalid syntax"
        )
    number = int(text) if len(text) < 100 else _MAX_INT64 + 1
    if not -_MAX_INT64 - 1 <= number <= _MAX_INT64:
        raise ScheduleError(
            f"failed to parse int from {text}: strconv.Atoi: parsing {quoted(text)}: value out of range"
        )
    if number < 0:
        raise ScheduleError(f"negative number ({number}) not allowed: {text}")
    return number
