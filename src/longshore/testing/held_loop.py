"""An event loop whose time stands still until somebody lets it pass, while sockets and threads work as usual.

Time passes in one of two ways. `advance` lets it jump from timer to timer up to a moment; between two jumps
everything that is due is done. `flow` lets it pass as real time does, or so many times as fast.

Before a jump nothing may be left to do at this moment. That is so when

1. the loop has nothing ready to run (a write on its way to the journal in memory is ready to run),
2. no socket has anything to read, and nobody has called into the loop from another thread,
3. no thread of the loop's pool works,
4. no request is received by half,
5. clients that were just told something, such as a change they watch, had `ANSWER_SECONDS` of real time for
   what they do about it; each request that comes begins this anew.

The first four are seen, the fifth is a guess: nobody can see what another program is about to do. Code that
needs longer belongs on the real clock, or beside `flow`. A request that waits for time itself, such as a
watch or a long poll, holds nothing up.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Coroutine
from typing import Any, Final

import msgspec

from longshore.machinery.time.virtual import Jumping, Ready, VirtualLoop

ANSWER_SECONDS: Final = 0.02
"""Real seconds that clients have for what they do about a change, before time goes on."""
_HALF_REQUEST_SECONDS: Final = 5.0
"""Real seconds to wait for the rest of a request, or for a thread."""
_SOON_SECONDS: Final = 1e-6
_STEP_SECONDS: Final = 1.0


class Outside:
    """The world outside the loop, as far as it can be seen. The server of a cluster fills it in."""

    def __init__(self) -> None:
        self.told = False
        """Whether a client was told something since the last look."""

    def is_sending(self) -> bool:
        """Whether a request is received by half."""
        return False


class _Way(msgspec.Struct):
    """A wish to let time pass up to a moment, or until something is so."""

    horizon: float
    is_there: Callable[[], bool] | None
    arrived: asyncio.Future[bool]


class HeldLoop(VirtualLoop):
    """`outside` says whether a jump has to wait for others."""

    def __init__(self) -> None:
        self.outside = Outside()
        self.busy_threads = 0
        self._way: _Way | None = None
        self._is_let_go = self._has_time = False
        self._speed = 0.0
        self._flowing_since = 0.0
        self._turn = asyncio.Lock()
        super().__init__(_Holding(self))

    async def advance(self, seconds: float, is_there: Callable[[], bool] | None = None) -> bool:
        """Lets so much time pass, or less if `is_there` says so at a moment when nothing is left to do.
        Returns whether it did; without it, False."""
        async with self._turn:
            self._way = way = _Way(self.time() + seconds, is_there, self.create_future())
            try:
                return await way.arrived
            finally:
                self._way = None

    async def let_pass(self, work: Coroutine[Any, Any, None]) -> None:
        """Does the work, and lets as much time pass as it waits for. Work within it has that time, too."""
        if self._has_time:
            await work
            return
        self._has_time = True
        doing = self.create_task(work)
        try:
            while not doing.done() and not self._is_let_go:
                await self.advance(_STEP_SECONDS, doing.done)
            await doing
        finally:
            self._has_time = False

    def flow(self, speed: float) -> None:
        """Lets time pass `speed` times as fast as real time; 0 holds it."""
        self.flow_on()
        self._speed, self._flowing_since = speed, time.monotonic()

    def let_go(self) -> None:
        """Never holds time again: each timer is due as soon as nothing else is to do. For the end."""
        self._is_let_go = True

    def run_in_executor(  # type: ignore[override] # as typeshed's, but for the types of the arguments
        self, executor: Any, func: Any, *args: Any
    ) -> asyncio.Future[Any]:
        self.busy_threads += 1
        working = super().run_in_executor(executor, func, *args)
        working.add_done_callback(self._thread_is_done)
        return working

    def _thread_is_done(self, working: asyncio.Future[Any]) -> None:
        self.busy_threads -= 1

    # ---- what the selector asks

    def waits_for_others(self) -> float:
        """Real seconds to wait for others before time may pass."""
        if self._way is None:
            return 0.0
        if self.busy_threads or self.outside.is_sending():
            return _HALF_REQUEST_SECONDS
        if self.outside.told:
            self.outside.told = False
            return ANSWER_SECONDS
        return 0.0

    def pass_time(self, timeout: float | None) -> bool:
        """Jumps as far as is wished for, or notes that the end is reached. False if nobody wishes so."""
        if self._is_let_go and timeout is not None:
            self.jump(timeout)
            return True
        way = self._way
        if way is None or way.arrived.done():
            return False
        left = way.horizon - self.time()
        try:
            if way.is_there is not None and way.is_there():
                way.arrived.set_result(True)
            elif left <= _SOON_SECONDS:
                way.arrived.set_result(False)
            else:
                self.jump(left if timeout is None else min(timeout, left))
        except Exception as err:  # the question of a caller, who gets the answer
            way.arrived.set_exception(err)
        return True

    def flow_on(self) -> None:
        """Lets the time pass that has passed in reality since the last look."""
        if self._speed:
            now = time.monotonic()
            self.jump((now - self._flowing_since) * self._speed)
            self._flowing_since = now

    def real_timeout(self, timeout: float | None) -> float | None:
        """Real seconds until a timer is due; None when only others can make something happen."""
        return timeout / self._speed if self._speed and timeout is not None else None


class _Holding(Jumping):
    """Waits for sockets and threads where no time may pass."""

    def __init__(self, loop: HeldLoop) -> None:
        super().__init__(loop.jump)
        self._loop = loop

    def select(self, timeout: float | None = None) -> Ready:
        self._loop.flow_on()
        return super().select(timeout)

    def idle(self, timeout: float | None) -> Ready:
        loop = self._loop
        if (others := loop.waits_for_others()) and (ready := self._real.select(others)):
            return ready
        if loop.pass_time(timeout):
            return []
        return self._real.select(loop.real_timeout(timeout))
