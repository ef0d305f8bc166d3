"""Times as the status writes them. Whole seconds, so one text serves many pods."""

from __future__ import annotations

from functools import lru_cache

from longshore.api import times

_text = lru_cache(maxsize=256)(times.format_seconds)


def text(seconds: float) -> str:
    """`2026-11-15T19:00:00Z` of seconds since 1970."""
    return _text(int(seconds))


@lru_cache(maxsize=256)
def seconds(moment: str) -> float:
    """The way back; 0 for an empty text."""
    return float(times.parse(moment).seconds) if moment else 0.0
