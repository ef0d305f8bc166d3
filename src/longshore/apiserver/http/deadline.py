"""One timer for all that a connection waits for in turn. Postponing the deadline needs no new timer."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Final

_NEVER: Final = float("inf")


class Deadline:
    """Calls `expired` when the time that was last set has come.

    A busy connection moves its deadline thousands of times a second. A timer that fires too early is started
    again.
    """

    __slots__ = ("_at", "_expired", "_loop", "_timer", "_timer_at")

    def __init__(self, loop: asyncio.AbstractEventLoop, expired: Callable[[], None]) -> None:
        self._loop, self._expired = loop, expired
        self._at = _NEVER
        self._timer: asyncio.TimerHandle | None = None
        self._timer_at = _NEVER

    def set(self, seconds: float) -> None:
        """Sets the deadline to `seconds` from now, whatever was set before."""
        self._at = self._loop.time() + seconds
        if self._at < self._timer_at:
            self._stop()
            self._start()

    def clear(self) -> None:
        """Removes the deadline until the next `set`."""
        self._at = _NEVER

    def end(self) -> None:
        """Cancels the timer for good and drops the callback."""
        self._stop()
        self._at = _NEVER
        self._expired = _nothing

    def _start(self) -> None:
        self._timer_at = self._at
        self._timer = self._loop.call_at(self._at, self._look)

    def _stop(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        self._timer_at = _NEVER

    def _look(self) -> None:
        self._timer, self._timer_at = None, _NEVER
        if self._at == _NEVER:
            return
        if self._at > self._loop.time():
            self._start()
        else:
            self._at = _NEVER
            self._expired()


def _nothing() -> None:
    pass
