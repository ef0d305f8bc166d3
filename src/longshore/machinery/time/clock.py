"""The machine's clock. Nothing else in the plane asks the machine what time it is, or sleeps by itself.

The protocol is `api.clock.Clock`, named here too, beside the engines.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from datetime import UTC, datetime

from longshore.api.clock import Clock, Timer


class RealClock:
    """The machine's clock and the running event loop's timers."""

    def now(self) -> datetime:
        return datetime.now(UTC)

    def timestamp(self) -> float:
        return time.time()

    def monotonic(self) -> float:
        return time.monotonic()

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)

    def timeout(self, seconds: float) -> AbstractAsyncContextManager[object]:
        return asyncio.timeout(seconds)

    def call_later(self, seconds: float, fn: Callable[[], object]) -> Timer:
        return asyncio.get_running_loop().call_later(seconds, fn)


def to_seconds(moment: datetime) -> str:
    """`2026-11-15T19:00:00Z`, as most times in objects are written; a fraction is cut off."""
    return moment.strftime("%Y-%m-%dT%H:%M:%SZ")


def to_micros(moment: datetime) -> str:
    """`2026-11-15T19:00:00.000000Z`, as Leases and new-style events write it."""
    return moment.strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def parse(text: str) -> datetime:
    """The moment of a time that the API server wrote, with or without a fraction."""
    return datetime.fromisoformat(text)


__all__ = ["Clock", "RealClock", "Timer", "parse", "to_micros", "to_seconds"]
