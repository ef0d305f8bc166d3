"""Time as a parameter. Nothing above this file asks the machine what time it is, or sleeps by itself.

`RealClock` is the machine's; `virtual.VirtualClock` jumps. Moments that people see come from `now`,
intervals are measured with `monotonic`, which never goes back.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Protocol


class Timer(Protocol):
    """A call that is due later."""

    def cancel(self) -> None:
        """Forgets the call; without effect once it was made."""


class Clock(Protocol):
    """What time it is, and waiting. Used on a running event loop."""

    def now(self) -> datetime:
        """The time in UTC, to the microsecond. May jump when somebody sets the machine's clock."""

    def monotonic(self) -> float:
        """Seconds since some moment; never goes back."""

    async def sleep(self, seconds: float) -> None:
        """Waits; zero or less only lets others run."""

    def call_later(self, seconds: float, fn: Callable[[], object]) -> Timer:
        """Calls `fn` in the event loop after so many seconds."""


class RealClock:
    """The machine's clock and the running event loop's timers."""

    def now(self) -> datetime:
        return datetime.now(UTC)

    def monotonic(self) -> float:
        return time.monotonic()

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)

    def call_later(self, seconds: float, fn: Callable[[], object]) -> Timer:
        return asyncio.get_running_loop().call_later(seconds, fn)
