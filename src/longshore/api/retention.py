"""Limits for records of the past: events, the history of Jobs, reasons, logs of failed pods.

Records beyond a limit are deleted, the oldest first. `longshore up --keep` changes the limits.
"""

from __future__ import annotations

from typing import Final

import msgspec

from longshore.api import quantity
from longshore.api.time import durations
from longshore.api.time.instants import SECOND
from longshore.api.time.rfc3339 import TimeError

_DAY_SECONDS: Final = 86_400.0


class Retention(msgspec.Struct, frozen=True):
    """The limits of one longshore process, in numbers, bytes and seconds."""

    events: int = 20_000
    """Takes some 30 MB: the events of the last 3,000 one-pod Jobs."""
    event_age: float = 3600.0
    """Seconds since an event's last change; upstream's default."""
    history: int = 5_000
    """Records of Jobs that have ended (`plane/job_history.py`): some 0.9 MB, and as many of Jobs that failed,
    30 MB at most if all have long messages."""
    history_age: float = 30 * _DAY_SECONDS
    reasons: int = 30_000
    """Takes some 5.5 MB (`machinery/records.py`): the reasons of the last 10,000 one-pod Jobs."""
    reasons_age: float = 7 * _DAY_SECONDS
    """Seconds; for older reasons read the logs."""
    archive: int = 256 << 20
    """Bytes of logs of failed pods that were deleted."""
    archive_pods: int = 5_000


NAMES: Final = tuple(name.replace("_", "-") for name in Retention.__struct_fields__)
"""The names of the limits on the command line."""


class BadLimit(ValueError):
    """A limit that cannot be read; the message names it, its value and the rule."""


def parse(text: str) -> Retention:
    """The limits in `events=50000,history-age=2160h`; those that are not named keep their defaults."""
    given: dict[str, float] = {}
    for part in text.split(","):
        name, equals, value = part.strip().partition("=")
        if not equals or name not in NAMES:
            raise BadLimit(f"{part.strip()!r} is not NAME=LIMIT with one of: {', '.join(NAMES)}")
        given[name.replace("-", "_")] = _value(name, value)
    return Retention(**given)  # type: ignore[arg-type] # `_value` gives whole numbers where fields are whole


def _value(name: str, text: str) -> float:
    if name.endswith("-age"):
        try:
            seconds = durations.parse(text) / SECOND
        except TimeError:
            raise BadLimit(f"{name}: {text!r} is not a duration such as 90s, 12h or 720h") from None
        if seconds <= 0:
            raise BadLimit(f"{name}: {text!r} is not longer than nothing")
        return seconds
    try:
        number = quantity.value(text)
    except ValueError:
        number = -1
    if number < 0:
        raise BadLimit(f"{name}: {text!r} is not a number such as 5000, 20k or 256Mi")
    return number
