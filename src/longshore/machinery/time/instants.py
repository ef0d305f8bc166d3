"""Times in objects as instants (integers, nanoseconds since 1970), and back into the texts people read."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Final

from longshore.api.cron import Instant, Zone

SECOND: Final = 1_000_000_000
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_FACE: Final = datetime(1970, 1, 1)
_MICROSECOND: Final = timedelta(microseconds=1)


def parse(text: str) -> Instant:
    """The instant of a time that an API server wrote."""
    return of(datetime.fromisoformat(text))


def of(moment: datetime) -> Instant:
    return (moment - _EPOCH) // _MICROSECOND * 1000


def utc(at: Instant) -> str:
    """`2026-11-15T19:00:00Z`, as objects carry it; a fraction is cut off."""
    return _wall(at // SECOND).isoformat() + "Z"


def rfc3339(at: Instant, zone: Zone) -> str:
    """`2026-11-15T20:00:00+01:00`, the way Go writes it: no offset is `Z`, and seconds of one are dropped."""
    seconds = at // SECOND
    offset = zone.offset(seconds)
    text = _wall(seconds + offset).isoformat()
    if not offset:
        return text + "Z"
    minutes = abs(offset) // 60
    return f"{text}{'-' if offset < 0 else '+'}{minutes // 60:02d}:{minutes % 60:02d}"


def rfc1123(at: Instant) -> str:
    """`Sun, 15 Nov 2026 19:00:00 +0000`."""
    moment = _wall(at // SECOND)
    return f"{_DAYS[moment.weekday()]}, {moment:%d} {_MONTHS[moment.month - 1]} {moment:%Y %H:%M:%S} +0000"


def _wall(seconds: int) -> datetime:
    """What a clock shows; without a zone, so that its text has none."""
    return _FACE + timedelta(seconds=seconds)


# strftime's names follow the machine's language
_DAYS: Final = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
_MONTHS: Final = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
