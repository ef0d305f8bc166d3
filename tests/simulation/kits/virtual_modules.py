"""Stand-ins for `time`, `threading`, `queue` and the like, in virtual time: the parts that the runners use.

A runner is loaded while they are in place of the real ones (`instead`), and keeps them.
"""

from __future__ import annotations

import asyncio
import contextlib
import datetime
import sys
import threading
import types
from collections import deque
from collections.abc import Callable, Iterator
from typing import Any

from longshore.machinery.time.virtual import VirtualClock
from simulation.kits import strands


class Lock:
    """A lock that its owner may take again. Others run only while its owner waits for something."""

    def __init__(self) -> None:
        self._owner: int | None = None
        self._times = 0
        self._waiting: deque[asyncio.Future[None]] = deque()

    def acquire(self) -> bool:
        me = threading.get_ident()
        while self._owner not in (None, me):
            strands.wait_for(_turn(self._waiting, None))
        self._owner = me
        self._times += 1
        return True

    def release(self) -> None:
        self._times -= 1
        if not self._times:
            self._owner = None
            wake(self._waiting)

    def __enter__(self) -> Lock:
        self.acquire()
        return self

    def __exit__(self, *exc: object) -> None:
        self.release()

    def given_up(self) -> int:
        """Releases it as often as it was taken: so many times."""
        times, self._times = self._times, 1
        self.release()
        return times

    def taken_back(self, times: int) -> None:
        self.acquire()
        self._times = times


class Condition:
    def __init__(self, lock: Lock | None = None) -> None:
        self._lock = lock or Lock()
        self._waiting: deque[asyncio.Future[None]] = deque()

    def __enter__(self) -> Condition:
        self._lock.acquire()
        return self

    def __exit__(self, *exc: object) -> None:
        self._lock.release()

    def wait(self, timeout: float | None = None) -> bool:
        times = self._lock.given_up()
        try:
            return strands.wait_for(_turn(self._waiting, timeout))
        finally:
            self._lock.taken_back(times)

    def notify_all(self) -> None:
        wake(self._waiting)


class Event:
    def __init__(self) -> None:
        self._is_set = False
        self._waiting: deque[asyncio.Future[None]] = deque()

    def set(self) -> None:
        self._is_set = True
        wake(self._waiting)

    def wait(self, timeout: float | None = None) -> bool:
        return self._is_set or strands.wait_for(_turn(self._waiting, timeout))


class Queue:
    def __init__(self) -> None:
        self._items: deque[Any] = deque()
        self._waiting: deque[asyncio.Future[None]] = deque()

    def put(self, item: Any) -> None:
        self._items.append(item)
        wake(self._waiting)

    def get(self) -> Any:
        while not self._items:
            strands.wait_for(_turn(self._waiting, None))
        return self._items.popleft()


class Thread:
    """A strand beside the one that starts it. Ends with the run."""

    def __init__(
        self, target: Callable[..., object] | None = None, args: tuple[Any, ...] = (), **options: object
    ) -> None:
        self._target, self._args = target, args

    def run(self) -> None:
        if self._target is not None:
            self._target(*self._args)

    def start(self) -> None:
        task = strands.loop().create_task(strands.run(self.run))
        BESIDE.add(task)
        task.add_done_callback(BESIDE.discard)


BESIDE: set[asyncio.Task[None]] = set()
"""The strands that run beside others. The player of a kit cancels them at its end."""


class ThreadPoolExecutor:
    """Does one thing after the other: nothing waits for real here."""

    def __init__(self, workers: int) -> None: ...

    def __enter__(self) -> ThreadPoolExecutor:
        return self

    def __exit__(self, *exc: object) -> None: ...

    def map(self, work: Callable[[Any], Any], items: list[Any]) -> Iterator[Any]:
        return map(work, items)


@contextlib.contextmanager
def instead(clock: VirtualClock) -> Iterator[None]:
    """Puts the stand-ins in place of the modules for whoever imports them meanwhile."""
    futures = _module("concurrent.futures", ThreadPoolExecutor=ThreadPoolExecutor)
    modules = {
        "time": _module("time", monotonic=clock.monotonic, sleep=_sleep),
        "threading": _module(
            "threading",
            Condition=Condition,
            Event=Event,
            Lock=Lock,
            RLock=Lock,
            Thread=Thread,
            local=threading.local,
        ),
        "queue": _module("queue", Queue=Queue),
        "datetime": _module("datetime", **{**vars(datetime), "datetime": _datetime(clock)}),
        "concurrent": _module("concurrent", futures=futures),
        "concurrent.futures": futures,
    }
    real = {name: sys.modules[name] for name in modules if name in sys.modules}
    sys.modules.update(modules)
    try:
        yield
    finally:
        for name in modules:
            del sys.modules[name]
        sys.modules.update(real)


def wake(waiting: deque[asyncio.Future[None]]) -> None:
    """Lets all go on who wait there."""
    while waiting:
        waiter = waiting.popleft()
        if not waiter.done():
            waiter.set_result(None)


async def _turn(waiting: deque[asyncio.Future[None]], seconds: float | None) -> bool:
    """Waits to be woken; False if nobody does in time."""
    waiter = asyncio.get_running_loop().create_future()
    waiting.append(waiter)
    try:
        async with asyncio.timeout(seconds):
            await waiter
    except TimeoutError:
        return False
    return True


def _sleep(seconds: float) -> None:
    strands.wait_for(asyncio.sleep(seconds))


def _datetime(clock: VirtualClock) -> type[datetime.datetime]:
    class Virtual(datetime.datetime):
        @classmethod
        def now(cls, tz: datetime.tzinfo | None = None) -> Any:
            return clock.now().astimezone(tz)

    return Virtual


def _module(name: str, **members: Any) -> types.ModuleType:
    module = types.ModuleType(name)
    vars(module).update(members)
    return module
