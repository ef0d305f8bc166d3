"""RFC 3339 times as Go reads and writes them, with Go's words for what is wrong.

`canonical` and `canonical_micro` give the one text Kubernetes stores: UTC, whole seconds or exactly six
decimals. In UTC the year must have four digits: any other could be written, but not read again.
"""

from __future__ import annotations

import re
from datetime import datetime
from functools import lru_cache
from typing import Final

from longshore.api.time import instants
from longshore.api.time.instants import SECOND, ZERO, Instant
from longshore.api.time.zones import Zone

_SECONDS: Final = "2006-01-02T15:04:05Z07:00"
_MICROS: Final = "2006-01-02T15:04:05.000000Z07:00"

_FIRST_SECOND: Final = -62167219200
"""The first second of the year 0."""
_END_SECOND: Final = 253402300800
"""The end of the year 9999."""

_CANONICAL: Final = re.compile(
    r"[1-9]\d{3}-(?:0[13578]|1[02]|0[469]|11|02)-(?:0[1-9]|1\d|2[0-8])T(?:[01]\d|2[0-3]):[0-5]\d:[0-5]\d"
    r"(\.\d{6})?Z",
    re.ASCII,
).fullmatch
"""Matches most canonical texts (days 29 to 31 are left to the full parser)."""


@lru_cache(maxsize=1024)
def canonical(text: str) -> str | None:
    """RFC 3339 text as Kubernetes writes it; None for Go's zero time, which is written as null."""
    match = _CANONICAL(text)
    if match is not None and match[1] is None:
        return text
    at = parse(text)
    return None if at == ZERO else from_instant(at)


@lru_cache(maxsize=64)
def is_canonical(text: str) -> bool:
    """Whether `canonical` leaves a text as it is."""
    try:
        return canonical(text) == text
    except TimeError:
        return False


def canonical_micro(text: str) -> str | None:
    """Times with microseconds as Kubernetes writes them. Six decimals are required, as in Kubernetes."""
    match = _CANONICAL(text)
    if match is not None and match[1] is not None:
        return text
    at = parse_micro(text)
    return None if at == ZERO else micros_from_instant(at)


@lru_cache(maxsize=1024)
def parse(text: str) -> Instant:
    """Parses an RFC 3339 time, with or without a fraction. Raises TimeError. Caches the latest results:
    objects that change together have equal times, and each sync reads them again."""
    if _CANONICAL(text) is not None:
        return instants.of(datetime.fromisoformat(text))  # 1 µs, the reader takes 10
    return _parse(text, _SECONDS)


def parse_micro(text: str) -> Instant:
    """An RFC 3339 time with exactly six decimals. Raises TimeError."""
    return _parse(text, _MICROS)


@lru_cache(maxsize=256)
def seconds(text: str | None) -> float:
    """The whole seconds since 1970 of a time in an object; 0 for a missing time, which then sorts first."""
    return float(parse(text) // SECOND) if text else 0.0


def from_seconds(seconds: float) -> str:
    """`2026-11-15T19:00:00Z` of seconds since 1970; a fraction is cut off."""
    return _from_seconds(int(seconds))


def millis_from_seconds(seconds: float) -> str:
    """`2026-11-15T19:00:00.123Z` of seconds since 1970; anything finer is cut off."""
    whole, millis = divmod(int(seconds * 1000), 1000)
    return f"{_date_and_time(whole)}.{millis:03d}Z"


def from_instant(at: Instant) -> str:
    """`2026-11-15T19:00:00Z`; a fraction is cut off."""
    return _from_seconds(at // SECOND)


def from_moment(moment: datetime) -> str:
    """`2026-11-15T19:00:00Z` of a clock's time; a fraction is cut off."""
    return _from_seconds(instants.of(moment) // SECOND)


def micros_from_moment(moment: datetime) -> str:
    """`2026-11-15T19:00:00.000000Z`, as Leases and new-style events write it."""
    return micros_from_instant(instants.of(moment))


def micros_from_instant(at: Instant) -> str:
    """`2026-11-15T19:00:00.000000Z`; anything finer is cut off."""
    whole, nanos = divmod(at, SECOND)
    return f"{_date_and_time(whole)}.{nanos // 1000:06d}Z"


def can_write(at: Instant) -> bool:
    """Whether the text of a time can be read again."""
    return _FIRST_SECOND <= at // SECOND < _END_SECOND


def in_zone(at: Instant, zone: Zone) -> str:
    """`2026-11-15T20:00:00+01:00`, as Go writes it: a zero offset is `Z`, seconds of one are dropped."""
    whole = at // SECOND
    offset = zone.offset(whole)
    text = _date_and_time(whole + offset)
    if not offset:
        return text + "Z"
    minutes = abs(offset) // 60
    return f"{text}{'-' if offset < 0 else '+'}{minutes // 60:02d}:{minutes % 60:02d}"


@lru_cache(maxsize=256)
def _from_seconds(seconds: int) -> str:
    return _date_and_time(seconds) + "Z"


def _date_and_time(seconds: int) -> str:
    days, rest = divmod(seconds, 86400)
    year, month, day = _civil(days)
    return f"{year:04d}-{month:02d}-{day:02d}T{rest // 3600:02d}:{rest // 60 % 60:02d}:{rest % 60:02d}"


def _days(year: int, month: int, day: int) -> int:
    """Days since 1970-01-01. Python's own calendar stops at the years 1 and 9999; Go's does not."""
    year -= month <= 2
    shifted_month = month - 3 if month > 2 else month + 9
    era, year_of_era = divmod(year, 400)
    day_of_year = (153 * shifted_month + 2) // 5 + day - 1
    return era * 146097 + year_of_era * 365 + year_of_era // 4 - year_of_era // 100 + day_of_year - 719468


def _civil(days: int) -> tuple[int, int, int]:
    era, day_of_era = divmod(days + 719468, 146097)
    year_of_era = (day_of_era - day_of_era // 1460 + day_of_era // 36524 - day_of_era // 146096) // 365
    day_of_year = day_of_era - (365 * year_of_era + year_of_era // 4 - year_of_era // 100)
    shifted_month = (5 * day_of_year + 2) // 153
    day = day_of_year - (153 * shifted_month + 2) // 5 + 1
    month = shifted_month + 3 if shifted_month < 10 else shifted_month - 9
    return year_of_era + era * 400 + (month <= 2), month, day


_MONTH_DAYS: Final = (31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)


def _parse(text: str, layout: str) -> Instant:
    """Reads the layout's elements from left to right; the first that does not fit names the error."""
    reader = _Reader(text, layout)
    year = reader.number("2006", 4, 4)
    reader.literal("-")
    month = reader.number("01", 2, 2)
    reader.check(1 <= month <= 12, "month")
    reader.literal("-")
    day = reader.number("02", 2, 2)
    reader.literal("T")
    hour = reader.number("15", 1, 2)
    reader.check(hour < 24, "hour")
    reader.literal(":")
    minute = reader.number("04", 2, 2)
    reader.check(minute < 60, "minute")
    reader.literal(":")
    second = reader.number("05", 2, 2)
    reader.check(second < 60, "second")
    nanos = reader.exact_micros() if layout is _MICROS else reader.fraction()
    offset = reader.zone()
    if reader.rest:
        raise TimeError(f"parsing time {quoted(text)}: extra text: {quoted(reader.rest)}")
    leap = month == 2 and year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)
    reader.check(1 <= day <= _MONTH_DAYS[month - 1] + leap, "day")
    clock = hour * 3600 + minute * 60 + second - offset
    at = (_days(year, month, day) * 86400 + clock) * SECOND + nanos
    reader.check(can_write(at), "year")
    return at


class _Reader:
    """The text still to be read, and the errors of reading it."""

    def __init__(self, text: str, layout: str) -> None:
        self.text = text
        self.layout = layout
        self.rest = text

    def bad(self, element: str) -> TimeError:
        return TimeError(
            f"parsing time {quoted(self.text)} as {quoted(self.layout)}: "
            f"cannot parse {quoted(self.rest)} as {quoted(element)}"
        )

    def check(self, fits: bool, what: str) -> None:
        if not fits:
            raise TimeError(f"parsing time {quoted(self.text)}: {what} out of range")

    def literal(self, char: str) -> None:
        if not self.rest.startswith(char):
            raise self.bad(char)
        self.rest = self.rest[1:]

    def number(self, element: str, least: int, most: int) -> int:
        width = most
        while width >= least:
            digits = self.rest[:width]
            if len(digits) == width and _is_digits(digits):
                self.rest = self.rest[width:]
                return int(digits)
            width -= 1
        raise self.bad(element)

    def fraction(self) -> int:
        match = re.match(r"[.,]([0-9]+)", self.rest)
        if match is None:
            return 0
        self.rest = self.rest[match.end() :]
        return int(match[1][:9].ljust(9, "0"))

    def exact_micros(self) -> int:
        match = re.match(r"[.,]([0-9]{6})", self.rest)
        if match is None:
            raise self.bad(".000000")
        self.rest = self.rest[7:]
        return int(match[1]) * 1000

    def zone(self) -> int:
        """Seconds east of UTC."""
        if self.rest.startswith("Z"):
            self.rest = self.rest[1:]
            return 0
        match = re.match(r"([+-])([0-9]{2}):([0-9]{2})", self.rest)
        if match is None:
            raise self.bad("Z07:00")
        hours, minutes = int(match[2]), int(match[3])
        self.rest = self.rest[6:]
        self.check(hours <= 24, "time zone offset hour")
        self.check(minutes <= 60, "time zone offset minute")
        seconds = (hours * 60 + minutes) * 60
        return seconds if match[1] == "+" else -seconds


def _is_digits(text: str) -> bool:
    return text.isascii() and text.isdigit()


class TimeError(ValueError):
    """The text is not a time or duration; the message is Go's own."""


def quoted(text: str) -> str:
    """The text in quotes, with every byte escaped that is not printable ASCII, as in Go's time package."""
    out = []
    for byte in text.encode("utf-8", "surrogatepass"):
        char = chr(byte)
        if char in '"\\':
            out.append("\\" + char)
        elif 0x20 <= byte < 0x80:
            out.append(char)
        else:
            out.append(f"\\x{byte:02x}")
    return '"' + "".join(out) + '"'
