"""Time as a parameter: the protocol alone, so that every layer can name it.

`machinery.time.clock.RealClock` is the machine's clock; `machinery.time.virtual.VirtualClock` jumps. Moments
that people see come from `now` and `timestamp`; intervals are measured with `monotonic`, which never goes
back.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from datetime import datetime
from typing import Protocol


class Timer(Protocol):
    """A call that is due later."""

    def cancel(self) -> None:
        """Cancels the call. Does nothing after it was made."""


class Clock(Protocol):
    """The time, and waiting. Used on a running event loop."""

    def now(self) -> datetime:
        """The time in UTC, to the microsecond. May jump when the machine's clock is set."""

    def timestamp(self) -> float:
        """The moment of `now`, in seconds since 1970."""

    def monotonic(self) -> float:
        """Seconds since some moment; never goes back."""

    async def sleep(self, seconds: float) -> None:
        """Waits; zero or less only lets other tasks run."""

    async def glance(self, seconds: float) -> float:
        """Waits until the wall clock has to be checked: for `seconds`, or on a clock that knows when it is
        set, until then. Returns the seconds that were meant to pass."""

    def timeout(self, seconds: float) -> AbstractAsyncContextManager[object]:
        """Cancels the block after `seconds` and raises TimeoutError in its place."""

    def call_later(self, seconds: float, fn: Callable[[], object]) -> Timer:
        """Calls `fn` in the event loop after `seconds`."""
