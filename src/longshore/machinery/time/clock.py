"""The machine's clock. No other code of the plane reads the machine's time or sleeps by itself.

The protocol is `api.clock.Clock`, also exported here beside its implementation.
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

    # Asked some twenty times for every Job, so without a call in between.
    timestamp = staticmethod(time.time)
    monotonic = staticmethod(time.monotonic)

    def now(self) -> datetime:
        return datetime.now(UTC)

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)

    async def glance(self, seconds: float) -> float:
        await asyncio.sleep(seconds)
        return seconds

    def timeout(self, seconds: float) -> AbstractAsyncContextManager[object]:
        return asyncio.timeout(seconds)

    def call_later(self, seconds: float, fn: Callable[[], object]) -> Timer:
        return asyncio.get_running_loop().call_later(seconds, fn)


__all__ = ["Clock", "RealClock", "Timer"]
