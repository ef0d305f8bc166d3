"""Instants: whole nanoseconds since 1970, UTC. Integers compare and add exactly, in any year."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Final, TypeAlias

Instant: TypeAlias = int
"""Nanoseconds since 1970, UTC."""

SECOND: Final = 1_000_000_000
ZERO: Final[Instant] = -62135596800 * SECOND
"""0001-01-01T00:00:00Z, Go's zero time: written as null."""

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND: Final = timedelta(microseconds=1)


def of(moment: datetime) -> Instant:
    return (moment - _EPOCH) // _MICROSECOND * 1000


def moment(at: Instant) -> datetime:
    """The instant as a datetime, to the microsecond. Raises OverflowError outside the years 1 to 9999."""
    return _EPOCH + timedelta(microseconds=at // 1000)


def rfc1123(at: Instant) -> str:
    """`Sun, 15 Nov 2026 19:00:00 +0000`."""
    found = moment(at)
    return f"{_DAYS[found.weekday()]}, {found:%d} {_MONTHS[found.month - 1]} {found:%Y %H:%M:%S} +0000"


# strftime's names follow the machine's language
_DAYS: Final = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
_MONTHS: Final = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
