"""Ages for people, the way kubectl's AGE columns spell them: `45s`, `5m10s`, `3h`, `2d5h`.

Short spans have two units, long ones only the first. The age of a time more than a second in the future is
`<invalid>`; that of a missing time is `<unknown>`. Nothing here reads a clock.
"""

from __future__ import annotations

from datetime import datetime
from typing import Final

from longshore.api.time import instants, rfc3339
from longshore.api.time.instants import ZERO
from longshore.api.time.rfc3339 import TimeError

UNKNOWN: Final = "<unknown>"
INVALID: Final = "<invalid>"

_MINUTE: Final = 60
_HOUR: Final = 60 * _MINUTE
_DAY: Final = 24 * _HOUR
_YEAR: Final = 365 * _DAY

# Up to (not including) the first number of seconds, count in the second number; the third is the
# smaller unit that is still shown, 0 for none.
_SCALE: Final = (
    (10 * _MINUTE, _MINUTE, 1),
    (3 * _HOUR, _MINUTE, 0),
    (8 * _HOUR, _HOUR, _MINUTE),
    (2 * _DAY, _HOUR, 0),
    (8 * _DAY, _DAY, _HOUR),
    (2 * _YEAR, _DAY, 0),
    (8 * _YEAR, _YEAR, _DAY),
)
_LETTER: Final = {1: "s", _MINUTE: "m", _HOUR: "h", _DAY: "d", _YEAR: "y"}


def human(seconds: float) -> str:
    """A span of time in at most two units."""
    whole = int(seconds)
    if whole < 2 * _MINUTE:
        if whole >= 0:
            return f"{whole}s"
        return INVALID if whole < -1 else "0s"
    for limit, unit, smaller in _SCALE:
        if whole < limit:
            text = f"{whole // unit}{_LETTER[unit]}"
            rest = whole % unit // smaller if smaller else 0
            return f"{text}{rest}{_LETTER[smaller]}" if rest else text
    return f"{whole // _YEAR}y"


def age(timestamp: str | None, now: datetime) -> str:
    """How long ago an RFC 3339 time was."""
    then = moment(timestamp)
    return UNKNOWN if then is None else human((now - then).total_seconds())


def between(start: str, end: str) -> str:
    """The span from one time to another; empty if either is missing."""
    first, last = moment(start), moment(end)
    return "" if first is None or last is None else human((last - first).total_seconds())


def moment(timestamp: str | None) -> datetime | None:
    """The moment of an RFC 3339 time; None for a missing, unreadable or (Go's) zero time."""
    try:
        at = rfc3339.parse(timestamp) if timestamp else ZERO
        return None if at == ZERO else instants.moment(at)
    except (TimeError, OverflowError):
        return None
