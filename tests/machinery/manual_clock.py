"""A clock that moves only when a test says so, without an event loop."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager, nullcontext
from datetime import UTC, datetime, timedelta


class ManualClock:
    def __init__(self) -> None:
        self.time = 0.0
        self.timers: list[_Timer] = []

    def now(self) -> datetime:
        return datetime(2026, 1, 1, tzinfo=UTC) + timedelta(seconds=self.time)

    def timestamp(self) -> float:
        return self.now().timestamp()

    def monotonic(self) -> float:
        return self.time

    async def sleep(self, seconds: float) -> None:
        raise AssertionError("nobody sleeps on a manual clock")

    async def glance(self, seconds: float) -> float:
        raise AssertionError("nobody looks at a manual clock twice")

    def timeout(self, seconds: float) -> AbstractAsyncContextManager[object]:
        return nullcontext()  # nobody waits here, so nobody waits for too long

    def call_later(self, seconds: float, fn: Callable[[], object]) -> _Timer:
        timer = _Timer(self, self.time + seconds, fn)
        self.timers.append(timer)
        return timer

    def advance(self, seconds: float) -> None:
        end = self.time + seconds
        while due := [timer for timer in self.timers if timer.when <= end]:
            first = min(due, key=lambda timer: timer.when)
            self.timers.remove(first)
            self.time = max(self.time, first.when)
            first.fn()
        self.time = end


class _Timer:
    def __init__(self, clock: ManualClock, when: float, fn: Callable[[], object]) -> None:
        self.clock, self.when, self.fn = clock, when, fn

    def cancel(self) -> None:
        if self in self.clock.timers:
            self.clock.timers.remove(self)
