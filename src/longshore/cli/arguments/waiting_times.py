"""Durations that people type: `30s`, `5m`, `1h30m`; a bare number counts seconds."""

from __future__ import annotations

from argparse import ArgumentTypeError

from longshore.api.time import durations

_WEEK_SECONDS = 7 * 24 * 3600.0


def seconds(text: str) -> float:
    """Seconds from a duration, for argparse. May be negative."""

    try:
        return float(text)
    except ValueError:
        pass
    try:
        return durations.parse(text) / 1e9
    except ValueError:
        raise ArgumentTypeError(f"{text!r} is not a duration: write 30s, 5m or 1h30m") from None


def patience(asked: float) -> float:
    """Seconds to wait, by kubectl's reading of --timeout: a negative one stands for a week."""
    return _WEEK_SECONDS if asked < 0 else asked
