"""Workers: take a key, look at it, and put it back if that failed. One worker has a key at a time.

A fixed number of them does for most controllers; a `Crowd` has as many as there are keys to look at.
Where the order of different keys matters too (requests that belong to one object), `Shards` gives each
object one queue with one worker, chosen by a hash that is the same in every run.
"""

from __future__ import annotations

import asyncio
import logging
import zlib
from collections import deque
from collections.abc import Awaitable, Callable, Hashable
from typing import Final, Generic, TypeAlias, TypeVar

from longshore.api.errors import StatusError
from longshore.client import Unreachable
from longshore.machinery.queues.try_again import TryAgain
from longshore.machinery.queues.workqueue import ShutDown, WorkQueue
from longshore.machinery.time.clock import Clock

K = TypeVar("K", bound=Hashable)

Sync: TypeAlias = Callable[[K], Awaitable[float | None]]
"""Looks at one key. Returns in how many seconds to look again by itself, or None when only a change calls
for it. Raises when it must be tried again."""

_TURN_KEYS: Final = 64
"""Keys that a crowd begins with before others in the event loop get their turn."""

log = logging.getLogger(__name__)


async def run_workers(queue: WorkQueue[K], sync: Sync[K], *, count: int = 1) -> None:
    """Runs `count` workers until cancelled, or until the queue is shut down and empty."""
    async with asyncio.TaskGroup() as tasks:
        for _ in range(count):
            tasks.create_task(_work(queue, sync))


async def _work(queue: WorkQueue[K], sync: Sync[K]) -> None:
    while True:
        try:
            key = await queue.get()
        except ShutDown:
            return
        await _look(queue, sync, key)
        await asyncio.sleep(0)  # a sync need not have waited for anything; others want their turn too


async def _look(queue: WorkQueue[K], sync: Sync[K], key: K) -> None:
    try:
        after = await sync(key)
    except Exception as err:  # a bug in a controller ends neither it nor the worker: the key comes back
        _report(key, err)
        queue.add_rate_limited(key)
    else:
        queue.forget(key)
        if after is not None:
            queue.add_after(key, after)
    finally:
        queue.done(key)


def _report(key: Hashable, err: Exception) -> None:
    """Logs an error: one that the next try may put right is no news; any other is a bug."""
    if isinstance(err, TryAgain):
        log.log(err.log_level, "%s: trying again: %s", key, err)
    elif isinstance(err, StatusError | Unreachable):
        log.info("%s: trying again: %s", key, err)
    else:
        log.error("%s: trying again after an unexpected error", key, exc_info=err)


class Crowd(Generic[K]):
    """A worker for every key that is ready, at most `limit` at a time, and none when there is none.

    For keys that become ready together and whose syncs mostly wait for the server. A sync that has done what
    is urgent can let the others come that far too, before it goes on (`others_first`).
    """

    def __init__(self, queue: WorkQueue[K], sync: Sync[K], *, limit: int) -> None:
        self._queue, self._sync, self._limit = queue, sync, limit
        self._running = self._taken = 0
        """Keys that were taken; those of them that nobody has begun with."""
        self._room = asyncio.Event()
        self._patient: deque[asyncio.Future[None]] = deque()

    async def run(self) -> None:
        """Runs until cancelled, or until the queue is shut down and empty."""
        async with asyncio.TaskGroup() as tasks:
            begun = 0
            while True:
                if self._blocked():
                    self._go_on()
                while self._running >= self._limit:
                    self._room.clear()
                    await self._room.wait()
                try:
                    key = await self._queue.get()
                except ShutDown:
                    return
                self._running += 1
                self._taken += 1
                tasks.create_task(self._one(key))
                begun += 1
                if not begun % _TURN_KEYS:
                    await asyncio.sleep(0)  # what has begun may run, and so may everybody else

    async def others_first(self) -> None:
        """Waits until somebody has begun with every key that is ready, or no more can be taken anyhow."""
        if not self._blocked():
            waiter = asyncio.get_running_loop().create_future()
            self._patient.append(waiter)
            await waiter

    def _blocked(self) -> bool:
        return self._running >= self._limit or not (self._taken or len(self._queue))

    def _go_on(self) -> None:
        """Lets those go on who waited, some in each turn of the loop."""
        for _ in range(min(_TURN_KEYS, len(self._patient))):
            waiter = self._patient.popleft()
            if not waiter.done():
                waiter.set_result(None)
        if self._patient and self._blocked():
            asyncio.get_running_loop().call_soon(self._go_on)

    async def _one(self, key: K) -> None:
        self._taken -= 1
        if self._patient and self._blocked():
            self._go_on()
        try:
            await _look(self._queue, self._sync, key)
        finally:
            self._running -= 1
            self._room.set()


class Shards(Generic[K]):
    """So many queues with one worker each. `object_of` names what must be kept in order."""

    def __init__(self, clock: Clock, count: int, object_of: Callable[[K], str]) -> None:
        self.queues = tuple(WorkQueue[K](clock) for _ in range(count))
        self._object_of = object_of

    def queue_of(self, key: K) -> WorkQueue[K]:
        """The queue that `key` belongs on: add it there, forget it there."""
        return self.queues[zlib.crc32(self._object_of(key).encode()) % len(self.queues)]

    async def run(self, sync: Sync[K]) -> None:
        """Runs one worker per queue until cancelled, or until all are shut down and empty."""
        async with asyncio.TaskGroup() as tasks:
            for queue in self.queues:
                tasks.create_task(_work(queue, sync))
