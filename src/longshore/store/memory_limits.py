"""Limits on memory that the store spends beyond the objects themselves."""

from __future__ import annotations

import msgspec


class Limits(msgspec.Struct, frozen=True):
    """Bounds in pairs, by number and by bytes of JSON; the tighter one counts."""

    window_events: int = 50_000
    """Changes that are kept for watchers that resume: those of some hours on a usual server."""
    window_bytes: int = 64 << 20
    lag_events: int = 10_000
    """Changes a watcher may leave unread before it is cut off."""
    lag_bytes: int = 32 << 20
    decoded_bytes: int = 4 << 20
    """Bytes of JSON that may be kept decoded, in ten times the memory. Objects that other code holds, too,
    may add three times as many (`decoded_views.py`)."""
