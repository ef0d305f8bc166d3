"""Durations as Go reads and writes them: `1h30m`, `1.5s`, `-2ms`. No days, no blanks.

`parse` computes the result of Go's time.ParseDuration, digit by digit: a fraction is a floating-point number,
digits beyond 63 bits are dropped, and the one sum that wraps around (twice 2^63 nanoseconds) is 0.
"""

from __future__ import annotations

import re
from typing import Final

from longshore.api.time.rfc3339 import TimeError, quoted

_MICRO: Final = 1_000
_MILLI: Final = 1_000 * _MICRO
_SECOND: Final = 1_000 * _MILLI
_UNITS: Final = {
    "ns": 1,
    "us": _MICRO,
    "µs": _MICRO,  # U+00B5, the micro sign
    "μs": _MICRO,  # U+03BC, the Greek letter
    "ms": _MILLI,
    "s": _SECOND,
    "m": 60 * _SECOND,
    "h": 3600 * _SECOND,
}
_LIMIT: Final = 2**63
_LIMIT_DIGITS: Final = len(str(_LIMIT))
_step: Final = re.compile(r"([0-9]*)(?:\.([0-9]*))?([^0-9.]*)").match


def parse(text: str) -> int:
    """The nanoseconds of a duration. Raises TimeError with Go's words."""
    negative, rest = text[:1] == "-", text[1:] if text[:1] in ("+", "-") else text
    if rest == "0":
        return 0
    if not rest:
        raise _invalid(text)
    total = 0
    while rest:
        match = _step(rest)
        assert match is not None
        whole, fraction, unit = match.groups()
        digits = whole.lstrip("0")
        if not (whole or fraction) or len(digits) > _LIMIT_DIGITS or int(digits or 0) > _LIMIT:
            raise _invalid(text)
        if not unit:
            raise TimeError(f"time: missing unit in duration {quoted(text)}")
        size = _UNITS.get(unit)
        if size is None:
            raise TimeError(f"time: unknown unit {quoted(unit)} in duration {quoted(text)}")
        amount = int(digits or 0) * size
        if amount <= _LIMIT and fraction:
            amount += _fraction(fraction, size)
        if amount > _LIMIT:
            raise _invalid(text)
        total = (total + amount) % 2**64
        if total > _LIMIT:
            raise _invalid(text)
        rest = rest[match.end() :]
    if negative:
        return -total
    if total == _LIMIT:
        raise _invalid(text)
    return total


def _fraction(digits: str, size: int) -> int:
    """Nanoseconds of the digits behind the point, computed as in Go: digits that do not fit are left out."""
    number, scale = 0, 1.0
    for digit in digits:
        if number > (_LIMIT - 1) // 10:
            break
        more = number * 10 + int(digit)
        if more > _LIMIT:
            break
        number, scale = more, scale * 10
    return int(float(number) * (size / scale))


def _invalid(text: str) -> TimeError:
    return TimeError(f"time: invalid duration {quoted(text)}")


def text(nanos: int) -> str:
    """`5m0s`, `1.5s`, `300ms`, `0s`: as Go prints a duration."""
    if nanos == 0:
        return "0s"
    sign, left = ("-", -nanos) if nanos < 0 else ("", nanos)
    if left < _SECOND:
        for unit, size in (("ms", _MILLI), ("µs", _MICRO), ("ns", 1)):
            if left >= size:
                return f"{sign}{_decimal(left, size)}{unit}"
    minutes, seconds = divmod(left, 60 * _SECOND)
    shown = f"{_decimal(seconds, _SECOND)}s"
    if minutes:
        shown = f"{minutes % 60}m{shown}"
    if minutes >= 60:
        shown = f"{minutes // 60}h{shown}"
    return sign + shown


def _decimal(amount: int, unit: int) -> str:
    whole, part = divmod(amount, unit)
    if not part:
        return str(whole)
    return f"{whole}.{str(part).zfill(len(str(unit)) - 1).rstrip('0')}"
