"""Workers: each takes a key, syncs it, and queues it again if that failed. A key has one worker at a time.

Most controllers have a fixed number of workers; a `Crowd` has as many as there are ready keys. If the order
of different keys matters too (requests that belong to one object), `OrderedQueues` gives each object one
queue with one worker, chosen by a hash that is the same in every run.
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

K = TypeVar("K", bound=Hashable)

Sync: TypeAlias = Callable[[K], Awaitable[float | None]]
"""Syncs one key. Returns the seconds until the next sync, or None if only a change causes one. Raises if the
sync must be retried."""

_USUAL_REASONS: Final = ("Conflict", "NotFound")
_EXPECTED_FAILURES: Final = 3
"""Conflicts or 404s in a row that cause no warning: another client writes, or just deleted, the object."""
_TURN_KEYS: Final = 64
"""Keys that a crowd starts before other callbacks of the event loop run."""

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
        await asyncio.sleep(0)  # a sync may never wait; lets other tasks run


async def _look(queue: WorkQueue[K], sync: Sync[K], key: K) -> None:
    begun = queue.now() if log.isEnabledFor(logging.DEBUG) else None
    try:
        after = await sync(key)
    except Exception as err:  # a bug in a controller ends neither controller nor worker: the key is retried
        usual = _is_usual(err, queue.requeues(key))
        pause = queue.add_rate_limited(key, in_turn=not usual)
        _report(queue, key, err, pause, usual)
    else:
        queue.forget(key)
        if after is not None:
            queue.add_after(key, after)
        if begun is not None and queue.owner:
            _tell_duration(queue, key, queue.now() - begun)
    finally:
        queue.done(key)


def _tell_duration(queue: WorkQueue[K], key: K, seconds: float) -> None:
    fields = {"controller": queue.owner, "object": _named(key), "duration": seconds}
    log.debug("%s: %s: synced in %.3f s", queue.owner, _named(key), seconds, extra={"fields": fields})


def _is_usual(err: Exception, failures: int) -> bool:
    """Whether the next try is likely to succeed: a TryAgain, or one of the first conflicts in a row."""
    if isinstance(err, StatusError):
        return err.reason in _USUAL_REASONS and failures < _EXPECTED_FAILURES
    return isinstance(err, TryAgain)


def _report(queue: WorkQueue[K], key: K, err: Exception, pause: float, usual: bool) -> None:
    """Logs a failed sync in one line. An error other than TryAgain or the server's counts as a bug."""
    failures, problem = queue.requeues(key), str(err) or repr(err)
    is_bug = not isinstance(err, TryAgain | StatusError | Unreachable)
    if is_bug:
        level, problem = logging.ERROR, f"unexpected error: {problem}"
    elif usual:
        level = err.log_level if isinstance(err, TryAgain) else logging.INFO
    else:
        level = logging.WARNING
    if not log.isEnabledFor(level):
        return
    who, name = queue.owner or "a controller", _named(key)
    fields = {"controller": who, "object": name, "err": problem, "retryIn": pause, "failures": failures}
    log.log(
        level,
        "%s: %s: %s; trying again in %.3g s (failure %d)",
        *(who, name, problem, pause, failures),
        exc_info=err if is_bug else None,
        extra={"fields": fields},
    )


def _named(key: Hashable) -> str:
    """A key of namespace and name as `default/hello`; the parts of any other key, joined by slashes."""
    if isinstance(key, tuple):
        return "/".join(_named(part) for part in key if part != "")
    return str(key)


class Crowd(Generic[K]):
    """Runs a worker for every ready key, at most `limit` at a time.

    For keys that become ready together and whose syncs mostly wait for the server. A sync that has done its
    urgent part can wait until the other keys have reached the same point (`others_first`).
    """

    def __init__(self, queue: WorkQueue[K], sync: Sync[K], *, limit: int) -> None:
        self._queue, self._sync, self._limit = queue, sync, limit
        self._running = self._taken = 0
        """Numbers of keys: taken and not finished; taken, and their sync not started."""
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
                    await asyncio.sleep(0)  # lets begun syncs and other tasks run

    async def others_first(self) -> None:
        """Waits until the sync of every ready key has started, or `limit` syncs run."""
        if not self._blocked():
            waiter = asyncio.get_running_loop().create_future()
            self._patient.append(waiter)
            await waiter

    def _blocked(self) -> bool:
        return self._running >= self._limit or not (self._taken or len(self._queue))

    def _go_on(self) -> None:
        """Wakes the syncs that wait in `others_first`, up to 64 in each turn of the loop."""
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


class OrderedQueues(Generic[K]):
    """Queues with one worker each, `count` of them. Keys with the same `object_of` are kept in order."""

    def __init__(self, make: Callable[[], WorkQueue[K]], count: int, object_of: Callable[[K], str]) -> None:
        self.queues = tuple(make() for _ in range(count))
        self._object_of = object_of

    def queue_of(self, key: K) -> WorkQueue[K]:
        """The queue of `key`: add it there, forget it there."""
        return self.queues[zlib.crc32(self._object_of(key).encode()) % len(self.queues)]

    async def run(self, sync: Sync[K]) -> None:
        """Runs one worker per queue until cancelled, or until all are shut down and empty."""
        async with asyncio.TaskGroup() as tasks:
            for queue in self.queues:
                tasks.create_task(_work(queue, sync))
