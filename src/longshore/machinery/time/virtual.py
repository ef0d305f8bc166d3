"""An event loop whose time jumps to the next timer as soon as nothing is left to do.

A whole control plane (store in memory, API, local client, controllers) runs on it: a month passes in
seconds, and the same seed gives the same run, step by step. What it cannot make repeatable is what it
cannot see: threads, sockets and other processes. Refuses to wait for ever (`Stuck`).
"""

from __future__ import annotations

import asyncio
import random
import selectors
from collections.abc import Awaitable, Callable, Mapping
from contextlib import AbstractAsyncContextManager
from datetime import UTC, datetime, timedelta
from typing import Any, Final, TypeAlias, TypeVar

from longshore.machinery.time.clock import Timer

T = TypeVar("T")

START: Final = datetime(2026, 1, 1, tzinfo=UTC)
_RESOLUTION_SECONDS: Final = 1e-6
"""Timers this near count as due: less would drown in a float's error after some years."""
_BUSY_LOOKS: Final = 8
"""While there is work and only threads could bring more, one look of so many is real: a look takes 2 µs,
and a simulated Job of a CronJob 18 turns of the loop."""
_STUCK_SECONDS: Final = 10.0
"""Real seconds to wait for a thread or a socket when no timer is set."""


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
        """Waits for `jump`: nobody else sets this clock."""
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
        return self._loop.call_later(seconds, fn)

    def jump(self, seconds: float) -> None:
        """Sets the wall clock forward, or back, as a person or NTP does. Timers do not notice."""
        self._start += timedelta(seconds=seconds)
        self._start_seconds = self._start.timestamp()
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
    """asyncio's own loop; only its idea of time, and what it does instead of waiting, differ."""

    def __init__(self, selector: selectors.BaseSelector | None = None) -> None:
        self.elapsed = 0.0
        """Seconds that have passed."""
        super().__init__(selector or Jumping(self.jump))
        self._clock_resolution = _RESOLUTION_SECONDS

    def time(self) -> float:
        return self.elapsed

    def call_at(  # type: ignore[override] # as typeshed's, but for the types of callback and arguments
        self, when: float, callback: Any, *args: Any, context: Any = None
    ) -> asyncio.TimerHandle:
        # What is due later must not be due now: who looks again in a nanosecond would look again for ever.
        if when > self.elapsed:
            when = max(when, self.elapsed + _RESOLUTION_SECONDS)
        return super().call_at(when, callback, *args, context=context)

    async def shutdown_default_executor(self, timeout: float | None = None) -> None:  # noqa: ASYNC109 # asyncio's own signature
        """Waits for threads without a limit: asyncio's five minutes pass here before a thread gets a turn."""
        await super().shutdown_default_executor()

    def jump(self, seconds: float) -> None:
        """Lets so much time pass at once. For the selector: timers that are due then run in the next turn."""
        self.elapsed += seconds


Ready: TypeAlias = list[tuple[selectors.SelectorKey, int]]


class Jumping(selectors.BaseSelector):
    """Looks at the sockets without waiting; where the loop would wait, lets virtual time pass instead."""

    def __init__(self, jump: Callable[[float], None]) -> None:
        self._real = selectors.DefaultSelector()
        self._jump = jump
        self._files = self._looks = 0

    def select(self, timeout: float | None = None) -> Ready:
        if timeout == 0:
            self._looks += 1
            # The one file of a loop without sockets is that by which threads wake it.
            return [] if self._files <= 1 and self._looks % _BUSY_LOOKS else self._real.select(0)
        return self._real.select(0) or self.idle(timeout)

    def idle(self, timeout: float | None) -> Ready:
        """Nothing is left to do for so long, or, with None, until something comes from outside."""
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
