"""Durations that people type: `30s`, `5m`, `1h30m`; a bare number counts seconds."""

from __future__ import annotations

import math
import re
from argparse import ArgumentTypeError

from longshore.api.time import durations

_RATE_SECONDS = {"s": 1.0, "m": 60.0, "h": 3600.0}
_WEEK_SECONDS = 7 * 24 * 3600.0
_MAX_SECONDS = 100 * 365 * 24 * 3600.0


def seconds(text: str) -> float:
    """Seconds from a duration, for argparse. May be negative."""
    try:
        found = float(text)
    except ValueError:
        try:
            found = durations.parse(text) / 1e9
        except ValueError:
            found = math.nan
    if not math.isfinite(found):
        raise ArgumentTypeError(f"{text!r} is not a duration: write 30s, 5m or 1h30m")
    if abs(found) > _MAX_SECONDS:
        raise ArgumentTypeError(f"{text!r} is too long: at most 100 years can be waited for")
    return found


def not_negative(text: str) -> float:
    """Seconds from a duration of 0 or more, for argparse."""
    found = seconds(text)
    if found < 0:
        raise ArgumentTypeError(f"{text!r} is negative")
    return found


def interval(text: str) -> float:
    """Parses a rate such as `10/s` (without a unit, per second) into seconds from one to the next."""
    number, _, unit = text.partition("/")
    if re.fullmatch(r"\d*\.?\d+", number) and float(number) and (unit or "s") in _RATE_SECONDS:
        return _RATE_SECONDS[unit or "s"] / float(number)
    raise ArgumentTypeError(f"{text!r} is not a rate: write 10/s, 30/m or 5/h")


def patience(asked: float) -> float:
    """Seconds to wait, as kubectl reads --timeout: a negative one means a week."""
    return _WEEK_SECONDS if asked < 0 else asked
