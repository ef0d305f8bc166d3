"""An event loop whose time stands still until a test lets it pass, while sockets and threads work as usual.

Time passes in one of two ways. `advance` lets it jump from timer to timer up to a moment; between two jumps
everything that is due is done. `flow` lets it pass as real time does, or several times as fast.

Before a jump nothing may be left to do at this moment. So a jump waits until

1. the loop has nothing ready to run (a write on its way to the journal in memory is ready to run),
2. no socket has anything to read, and no other thread has called into the loop,
3. no thread of the loop's pool works,
4. no request is partly received,
5. clients that just received something, such as a change they watch, had `ANSWER_SECONDS` of real time
   to react; each new request starts this time again.

The first four are observed, the fifth is a guess: another program's next action cannot be seen. Code that
needs longer belongs on the real clock, or beside `flow`. A request that waits for time itself, such as a
watch or a long poll, holds nothing up.
"""

from __future__ import annotations

import asyncio
import heapq
import importlib
import itertools
import threading
import time
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from functools import partial
from typing import Any, Final, Generic, TypeVar

import msgspec

from longshore.machinery.time.clock import RealClock
from longshore.machinery.time.virtual import Jumping, Ready, VirtualLoop

ANSWER_SECONDS: Final = 0.02
"""Real seconds that clients have to react to a change before time passes."""
_HALF_REQUEST_SECONDS: Final = 5.0
"""Real seconds to wait for the rest of a request, or for a thread."""
_SOON_SECONDS: Final = 1e-6
_STEP_SECONDS: Final = 1.0


class Outside:
    """The clients outside the loop, as far as they can be observed. The server of a cluster is a subclass."""

    def __init__(self) -> None:
        self.told = False
        """Whether anything was sent to a client since the last check."""

    def is_sending(self) -> bool:
        """Whether a request is partly received."""
        return False


class RealTimer(msgspec.Struct, order=True):
    """A timer by real time."""

    due: float
    order: int
    fn: Callable[[], object] | None

    def cancel(self) -> None:
        self.fn = None


class ClientClock(RealClock):
    """Real time on a `HeldLoop`, by which requests of clients time out: clients count real seconds."""

    def __init__(self, loop: HeldLoop) -> None:
        self._loop = loop

    async def sleep(self, seconds: float) -> None:
        over = self._loop.create_future()
        timer = self.call_later(seconds, partial(_set, over))
        try:
            await over
        finally:
            timer.cancel()

    async def glance(self, seconds: float) -> float:
        await self.sleep(seconds)
        return seconds

    @asynccontextmanager
    async def timeout(self, seconds: float) -> AsyncIterator[None]:
        async with asyncio.timeout(None) as limit:
            timer = self.call_later(seconds, lambda: limit.reschedule(self._loop.time()))
            try:
                yield
            finally:
                timer.cancel()

    def call_later(self, seconds: float, fn: Callable[[], object]) -> RealTimer:
        return self._loop.call_later_real(seconds, fn)


def _set(over: asyncio.Future[None]) -> None:
    if not over.done():
        over.set_result(None)


class _Way(msgspec.Struct):
    """A request to let time pass up to a moment, or until a condition holds."""

    horizon: float
    is_there: Callable[[], bool] | None
    arrived: asyncio.Future[bool]


class HeldLoop(VirtualLoop):
    """An event loop whose time a test moves. A jump waits for the clients that `outside` observes."""

    def __init__(self) -> None:
        self.outside = Outside()
        self.busy_threads = 0
        self._way: _Way | None = None
        self._is_let_go = self._has_time = False
        self._speed = 0.0
        self._flowing_since = 0.0
        self._turn = asyncio.Lock()
        self._real_timers: list[RealTimer] = []
        self._real_count = itertools.count()
        self.stands_since = time.monotonic()
        """The real moment at which time stopped; meaningless while it passes."""
        self.followers: list[Callable[[], object]] = []
        """Called whenever time has moved."""
        super().__init__(_Holding(self))

    async def advance(self, seconds: float, is_there: Callable[[], bool] | None = None) -> bool:
        """Lets `seconds` pass, or less if `is_there` is true at a moment when nothing is left to do. Returns
        whether it was true; False without `is_there`."""
        async with self._turn:
            self._way = way = _Way(self.time() + seconds, is_there, self.create_future())
            try:
                return await way.arrived
            finally:
                self._way = None
                self.stands_since = time.monotonic()

    async def let_pass(self, work: Coroutine[Any, Any, None]) -> None:
        """Runs `work`, and lets time pass while it waits. Calls of this method inside `work` share that
        time."""
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

    def jump(self, seconds: float) -> None:
        self.elapsed += seconds
        for follow in self.followers:
            follow()

    @property
    def stands_still(self) -> bool:
        """Whether no call lets time pass."""
        return self._way is None and not self._speed and not self._is_let_go

    def call_later_real(self, seconds: float, fn: Callable[[], object]) -> RealTimer:
        """Calls a function after `seconds` of real time, independent of the loop's time."""
        timer = RealTimer(time.monotonic() + seconds, next(self._real_count), fn)
        heapq.heappush(self._real_timers, timer)
        return timer

    def flow(self, speed: float) -> float:
        """Lets time pass `speed` times as fast as real time; 0 stops it. Returns the speed before."""
        self.flow_on()
        before = self._speed
        self._speed, self._flowing_since = speed, time.monotonic()
        self.stands_since = self._flowing_since
        return before

    def let_go(self) -> None:
        """Ends the control of time, when the cluster closes: each timer is due as soon as nothing else is
        left to do."""
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
        """Real seconds to wait for threads and clients before time may pass."""
        if self._way is None:
            return 0.0
        if self.busy_threads or self.outside.is_sending():
            return _HALF_REQUEST_SECONDS
        if self.outside.told:
            self.outside.told = False
            return ANSWER_SECONDS
        return 0.0

    def pass_time(self, timeout: float | None) -> bool:
        """Jumps as far as the call of `advance` allows, or ends the call. Returns False if no call lets time
        pass."""
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
        except Exception as err:  # the caller of `advance` gets the error
            way.arrived.set_exception(err)
        return True

    def flow_on(self) -> None:
        """Jumps by the real time since the last call, multiplied by the speed."""
        if self._speed:
            now = time.monotonic()
            self.jump((now - self._flowing_since) * self._speed)
            self._flowing_since = now

    @property
    def has_real_timers(self) -> bool:
        return bool(self._real_timers)

    def call_due(self) -> bool:
        """Schedules the calls that are due by real time; returns whether any was due."""
        timers, found = self._real_timers, False
        while timers and (timers[0].fn is None or timers[0].due <= time.monotonic()):
            if (fn := heapq.heappop(timers).fn) is not None:
                self.call_soon(fn)
                found = True
        return found

    def real_timeout(self, timeout: float | None) -> float | None:
        """Real seconds until a timer is due; None if only sockets or threads can wake the loop."""
        flowing = timeout / self._speed if self._speed and timeout is not None else None
        if not self._real_timers:
            return flowing
        real = max(self._real_timers[0].due - time.monotonic(), 0.0)
        return real if flowing is None else min(flowing, real)


class _Holding(Jumping):
    """A selector that waits for sockets and threads while the loop's time may not pass."""

    def __init__(self, loop: HeldLoop) -> None:
        super().__init__(loop.jump)
        self._loop = loop

    def select(self, timeout: float | None = None) -> Ready:
        loop = self._loop
        loop.flow_on()
        if loop.has_real_timers and loop.call_due():
            return self._real.select(0)
        return super().select(timeout)

    def idle(self, timeout: float | None) -> Ready:
        loop = self._loop
        if (others := loop.waits_for_others()) and (ready := self._real.select(others)):
            return ready
        if loop.pass_time(timeout):
            return []
        return self._real.select(loop.real_timeout(timeout))


# A thread with its own event loop, for callers that have no loop or run another one.

__tracebackhide__ = True
"""Reports of pytest end at the line of the test that called; `--full-trace` shows the rest."""
L = TypeVar("L", bound=asyncio.AbstractEventLoop)
T = TypeVar("T")


class LoopThread(Generic[L]):
    """Runs until `stop`, or until the process ends."""

    def __init__(self, make_loop: Callable[[], L], name: str) -> None:
        self.loop = make_loop()
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)
        self._thread.start()

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        """Runs a coroutine in the loop, waits, and returns its result. Cancels it if the wait is
        interrupted."""
        if threading.current_thread() is self._thread:
            work.close()
            raise RuntimeError(
                "called from the cluster's own thread: a function of pods must not ask the cluster"
            )
        running = asyncio.run_coroutine_threadsafe(work, self.loop)
        try:
            error = running.exception()
        except BaseException:
            running.cancel()
            raise
        if error is not None:
            raise error  # without the frames of concurrent.futures
        return running.result()

    def call(self, fn: Callable[[], T]) -> T:
        """Calls a function in the loop and returns its result."""

        async def work() -> T:
            return fn()

        return self.run(work())

    def stop(self) -> None:
        """Ends the loop and waits for the thread."""
        self.loop.call_soon_threadsafe(self.loop.stop)
        self._thread.join()

    def _run(self) -> None:
        asyncio.set_event_loop(self.loop)
        try:
            self.loop.run_forever()
            left = asyncio.all_tasks(self.loop)
            for task in left:
                task.cancel()
            self.loop.run_until_complete(asyncio.gather(*left, return_exceptions=True))
            self.loop.run_until_complete(self.loop.shutdown_asyncgens())
            self.loop.run_until_complete(self.loop.shutdown_default_executor())
        finally:
            asyncio.set_event_loop(None)
            self.loop.close()


async def in_thread(work: Callable[[], T]) -> T:
    """Runs work in a thread while the caller's loop, asyncio's or trio's, continues."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        trio = importlib.import_module("trio")
        result: T = await trio.to_thread.run_sync(work)
        return result
    return await asyncio.to_thread(work)
