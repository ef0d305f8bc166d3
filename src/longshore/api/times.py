"""Times and durations as Go reads and writes them, with Go's words for what is wrong.

An instant is (whole seconds since 1970, nanoseconds); durations are nanoseconds. `canonical` and
`canonical_micro` give the one text Kubernetes stores: UTC, whole seconds or exactly six decimals.
No clock is read here. Leap seconds do not exist, as in Go.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final, NamedTuple

ZERO_SECONDS: Final = -62135596800
"""0001-01-01T00:00:00Z, Go's zero time: written as null."""

_SECONDS: Final = "2006-01-02T15:04:05Z07:00"
_MICROS: Final = "2006-01-02T15:04:05.000000Z07:00"

_CANONICAL: Final = re.compile(
    r"[1-9]\d{3}-(?:0[13578]|1[02]|0[469]|11|02)-(?:0[1-9]|1\d|2[0-8])T(?:[01]\d|2[0-3]):[0-5]\d:[0-5]\d"
    r"(\.\d{6})?Z",
    re.ASCII,
).fullmatch
"""Matches most canonical texts (days 29 to 31 are left to the full parser)."""


class TimeError(ValueError):
    """The text is not a time or duration; the message is Go's own."""


class Instant(NamedTuple):
    """A moment, as protobuf stores it."""

    seconds: int
    nanos: int = 0

    @property
    def is_zero(self) -> bool:
        return self.seconds == ZERO_SECONDS and not self.nanos


@lru_cache(maxsize=1024)
def canonical(text: str) -> str | None:
    """RFC 3339 text as Kubernetes writes it; None for Go's zero time, which is written as null."""
    match = _CANONICAL(text)
    if match is not None and match[1] is None:
        return text
    instant = parse(text)
    return None if instant.is_zero else format_seconds(instant.seconds)


@lru_cache(maxsize=64)
def is_canonical(text: str) -> bool:
    """Whether a text is just what `canonical` makes of it."""
    try:
        return canonical(text) == text
    except TimeError:
        return False


def canonical_micro(text: str) -> str | None:
    """As `canonical`, for times with microseconds. Six decimals are required, as in Kubernetes."""
    match = _CANONICAL(text)
    if match is not None and match[1] is not None:
        return text
    instant = parse_micro(text)
    return None if instant.is_zero else format_micros(*instant)


def parse(text: str) -> Instant:
    """An RFC 3339 time, with or without a fraction."""
    return _parse(text, _SECONDS)


def parse_micro(text: str) -> Instant:
    """An RFC 3339 time with exactly six decimals."""
    return _parse(text, _MICROS)


@lru_cache(maxsize=64)
def format_seconds(seconds: int) -> str:
    """`2026-11-15T19:00:00Z`."""
    return _date_and_time(seconds) + "Z"


def format_micros(seconds: int, nanos: int) -> str:
    """`2026-11-15T19:00:00.000000Z`; anything finer is cut off."""
    return f"{_date_and_time(seconds)}.{nanos // 1000:06d}Z"


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
        raise TimeError(f"parsing time {_quoted(text)}: extra text: {_quoted(reader.rest)}")
    leap = month == 2 and year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)
    reader.check(1 <= day <= _MONTH_DAYS[month - 1] + leap, "day")
    clock = hour * 3600 + minute * 60 + second - offset
    return Instant(_days(year, month, day) * 86400 + clock, nanos)


class _Reader:
    """The text still to be read, and the errors of reading it."""

    def __init__(self, text: str, layout: str) -> None:
        self.text = text
        self.layout = layout
        self.rest = text

    def bad(self, element: str) -> TimeError:
        return TimeError(
            f"parsing time {_quoted(self.text)} as {_quoted(self.layout)}: "
            f"cannot parse {_quoted(self.rest)} as {_quoted(element)}"
        )

    def check(self, fits: bool, what: str) -> None:
        if not fits:
            raise TimeError(f"parsing time {_quoted(self.text)}: {what} out of range")

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


def _quoted(text: str) -> str:
    """Go's time package escapes every byte that is not printable ASCII."""
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


_UNITS: Final = {
    "ns": 1,
    "us": 1_000,
    "µs": 1_000,  # U+00B5
    "μs": 1_000,  # U+03BC
    "ms": 1_000_000,
    "s": 1_000_000_000,
    "m": 60 * 1_000_000_000,
    "h": 3600 * 1_000_000_000,
}
_STEP: Final = re.compile(r"([0-9]*)(?:(\.)([0-9]*))?([^0-9.]*)", re.ASCII | re.DOTALL)


def parse_duration(text: str) -> int:
    """Nanoseconds of a Go duration such as `1h30m` or `1.5s`."""
    invalid = f"time: invalid duration {_quoted(text)}"
    rest = text[1:] if text[:1] in ("+", "-") else text
    if rest == "0":
        return 0
    if not rest:
        raise TimeError(invalid)
    total = 0
    while rest:
        match = _STEP.match(rest)
        assert match is not None
        whole, dot, part, unit = match.groups()
        if not whole and not part:
            raise TimeError(invalid)
        if not unit:
            raise TimeError(f"time: missing unit in duration {_quoted(text)}")
        if unit not in _UNITS:
            raise TimeError(f"time: unknown unit {_quoted(unit)} in duration {_quoted(text)}")
        total += int(whole or 0) * _UNITS[unit]
        if dot and part:
            total += int(part) * _UNITS[unit] // 10 ** len(part)
        if total > 2**63 - (text[0] != "-"):
            raise TimeError(invalid)
        rest = rest[match.end() :]
    return -total if text[0] == "-" else total


def format_duration(nanos: int) -> str:
    """`5m0s`, `1.5s`, `300ms`, `0s`: as Go prints a duration."""
    if nanos == 0:
        return "0s"
    sign, left = ("-", -nanos) if nanos < 0 else ("", nanos)
    if left < 1_000_000_000:
        for unit, size in (("ms", 1_000_000), ("µs", 1_000), ("ns", 1)):
            if left >= size:
                return f"{sign}{_decimal(left, size)}{unit}"
    seconds, hours_and_minutes = left % 60_000_000_000, left // 60_000_000_000
    text = f"{_decimal(seconds, 1_000_000_000)}s"
    if hours_and_minutes:
        text = f"{hours_and_minutes % 60}m{text}"
    if hours_and_minutes >= 60:
        text = f"{hours_and_minutes // 60}h{text}"
    return sign + text


def _decimal(amount: int, unit: int) -> str:
    whole, part = divmod(amount, unit)
    if not part:
        return str(whole)
    return f"{whole}.{str(part).zfill(len(str(unit)) - 1).rstrip('0')}"
