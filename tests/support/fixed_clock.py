"""A clock whose wall time stands still, or is moved by hand; waiting takes real time."""

from __future__ import annotations

from datetime import UTC, datetime

from longshore.machinery.time.clock import RealClock


class FixedClock(RealClock):
    """Calling it gives its seconds since 1970, as tokens ask for them."""

    def __init__(self, seconds: float = 1_800_000_000.0) -> None:
        self.seconds = seconds

    def __call__(self) -> float:
        return self.seconds

    def timestamp(self) -> float:
        return self.seconds

    def now(self) -> datetime:
        return datetime.fromtimestamp(self.seconds, UTC)
