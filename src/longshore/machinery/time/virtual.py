"""An event loop whose time jumps to the next timer as soon as no callback is ready.

A whole control plane (store in memory, API, local client, controllers) runs on it: a month passes in seconds,
and the same seed gives the same run, step by step. Threads, sockets and other processes are not repeatable,
since the loop cannot see them. If everything waits without a timer, it raises `Stuck`.
"""

from __future__ import annotations

import asyncio
import heapq
import math
import random
import selectors
from collections import deque
from collections.abc import Awaitable, Callable, Mapping
from contextlib import AbstractAsyncContextManager
from datetime import UTC, datetime, timedelta
from typing import Any, Final, TypeAlias, TypeVar

from longshore.machinery.time.clock import Timer

T = TypeVar("T")

START: Final = datetime(2026, 1, 1, tzinfo=UTC)
_RESOLUTION_SECONDS: Final = 1e-6
"""A timer this near counts as due: after some years, a shorter time would be below a float's precision."""
_TICKS_PER_SECOND: Final = 2.0**24
"""Timers are due at whole ticks. Sums and differences of ticks are exact for 15 years, so a run depends
neither on the rounding of floats nor on the date."""
_TURNS_PER_POLL: Final = 8
"""Turns of the loop for each real poll of sockets and threads while there is work. A poll takes 2 µs, and a
simulated Job of a CronJob 18 turns."""
_STUCK_SECONDS: Final = 10.0
"""Real seconds to wait for a thread or a socket if no timer is set."""


class Stuck(RuntimeError):
    """Everything waits and no timer is set: nothing could ever happen again. A wake-up was forgotten."""

    def __init__(self) -> None:
        super().__init__(self.__doc__)


class VirtualClock:
    """The clock of a `VirtualLoop`. `rng` is the run's one source of randomness."""

    def __init__(self, loop: VirtualLoop, start: datetime = START, seed: int = 0) -> None:
        if start.tzinfo is None:
            raise ValueError(f"the start of a virtual clock needs a time zone: {start}")
        self.rng = random.Random(seed)
        self._loop, self._start = loop, start.astimezone(UTC)
        self._start_seconds = self._start.timestamp()
        self._glances: list[asyncio.Future[None]] = []

    def now(self) -> datetime:
        return self._start + timedelta(seconds=self._loop.elapsed)

    def timestamp(self) -> float:
        return self._start_seconds + self._loop.elapsed

    def monotonic(self) -> float:
        return self._loop.elapsed

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)

    async def glance(self, seconds: float) -> float:
        """Waits until `jump` is called, the only thing that sets this clock."""
        began = self.monotonic()
        waiter = self._loop.create_future()
        self._glances.append(waiter)
        try:
            await waiter
        finally:
            if waiter in self._glances:
                self._glances.remove(waiter)
        return self.monotonic() - began

    def timeout(self, seconds: float) -> AbstractAsyncContextManager[object]:
        return asyncio.timeout(seconds)

    def call_later(self, seconds: float, fn: Callable[[], object]) -> Timer:
        return self._loop.call_at(self._loop.elapsed + seconds, fn)

    def jump(self, seconds: float) -> None:
        """Sets the wall clock forward or back, as a person or NTP does. Timers are not affected."""
        self._start += timedelta(seconds=seconds)
        self._start_seconds = self._start.timestamp()
        self._loop.jump(0.0)  # other code may need the time of this loop
        waiting, self._glances = self._glances, []
        for waiter in waiting:
            if not waiter.done():
                waiter.set_result(None)


def run(main: Callable[[VirtualClock], Awaitable[T]], *, start: datetime = START, seed: int = 0) -> T:
    """Runs `main` to its end in virtual time, which begins at `start`."""

    async def whole() -> T:
        loop = asyncio.get_running_loop()
        assert isinstance(loop, VirtualLoop)
        return await main(VirtualClock(loop, start, seed))

    with asyncio.Runner(loop_factory=VirtualLoop) as runner:
        return runner.run(whole())


class VirtualLoop(asyncio.SelectorEventLoop):
    """asyncio's own loop, except that it has virtual time, and advances it instead of waiting."""

    def __init__(self, selector: selectors.BaseSelector | None = None) -> None:
        self.elapsed = 0.0
        """Virtual seconds since the start."""
        super().__init__(selector or Jumping(self.jump))
        self._clock_resolution = _RESOLUTION_SECONDS
        self._timers = 0

        self._debug: bool
        self._scheduled: list[asyncio.TimerHandle]
        self._ready: deque[asyncio.Handle]

    def time(self) -> float:
        return self.elapsed

    def call_soon(  # type: ignore[override] # as typeshed's, but for the types of callback and arguments
        self, callback: Any, *args: Any, context: Any = None
    ) -> asyncio.Handle:
        """asyncio's `call_soon` without its checks: four calls instead of six, 55 times per simulated Job."""
        if self._debug:
            return super().call_soon(callback, *args, context=context)
        handle = asyncio.Handle(callback, args, self, context)
        self._ready.append(handle)
        return handle

    def call_at(  # type: ignore[override] # as typeshed's, but for the types of callback and arguments
        self, when: float, callback: Any, *args: Any, context: Any = None
    ) -> asyncio.TimerHandle:
        # A later timer must not be due now: a callback that rearms in a nanosecond would run for ever.
        if when > self.elapsed:
            when = max(when, self.elapsed + _RESOLUTION_SECONDS)
        self._timers += 1
        timer = _Timer(math.ceil(when * _TICKS_PER_SECOND) / _TICKS_PER_SECOND, callback, args, self, context)
        timer.number = self._timers
        heapq.heappush(self._scheduled, timer)
        timer._scheduled = True  # type: ignore[attr-defined] # so that a cancelled one is counted
        return timer

    async def shutdown_default_executor(self, timeout: float | None = None) -> None:  # noqa: ASYNC109 # asyncio's own signature
        """Waits for threads without a limit: asyncio's five minutes are virtual, so over at once."""
        await super().shutdown_default_executor()

    def jump(self, seconds: float) -> None:
        """Advances the time at once. For the selector: timers that are then due run in the next turn."""
        self.elapsed += seconds


class _Timer(asyncio.TimerHandle):
    """A timer. Of timers that are due at the same moment, the one that was set first runs first."""

    __slots__ = ("number",)

    number: int

    def __lt__(self, other: asyncio.TimerHandle) -> bool:
        if isinstance(other, _Timer) and self.when() == other.when():
            return self.number < other.number
        return self.when() < other.when()


Ready: TypeAlias = list[tuple[selectors.SelectorKey, int]]


class Jumping(selectors.BaseSelector):
    """Polls the sockets without waiting; where the loop would wait, advances virtual time instead."""

    def __init__(self, jump: Callable[[float], None]) -> None:
        self._real = selectors.DefaultSelector()
        self._jump = jump
        self._files = self._looks = 0

    def select(self, timeout: float | None = None) -> Ready:
        if timeout == 0:
            self._looks += 1
            # A loop without sockets has one file, by which threads wake it.
            return [] if self._files <= 1 and self._looks % _TURNS_PER_POLL else self._real.select(0)
        return self._real.select(0) or self.idle(timeout)

    def idle(self, timeout: float | None) -> Ready:
        """Advances time by `timeout`. With None, waits for a thread or socket; raises `Stuck` without one."""
        if timeout is not None:
            self._jump(timeout)
            return []
        ready = self._real.select(_STUCK_SECONDS)
        if not ready:
            raise Stuck
        return ready

    def register(self, fileobj: Any, events: int, data: Any = None) -> selectors.SelectorKey:
        key = self._real.register(fileobj, events, data)
        self._files += 1
        return key

    def unregister(self, fileobj: Any) -> selectors.SelectorKey:
        key = self._real.unregister(fileobj)
        self._files -= 1
        return key

    def modify(self, fileobj: Any, events: int, data: Any = None) -> selectors.SelectorKey:
        return self._real.modify(fileobj, events, data)

    def get_map(self) -> Mapping[Any, selectors.SelectorKey]:
        return self._real.get_map()

    def close(self) -> None:
        self._real.close()
