"""Workers: take a key, look at it, and put it back if that failed. One worker has a key at a time.

Where the order of different keys matters too (requests that belong to one object), `Shards` gives each
object one queue with one worker, chosen by a hash that is the same in every run.
"""

from __future__ import annotations

import asyncio
import logging
import zlib
from collections.abc import Awaitable, Callable, Hashable
from typing import Generic, TypeAlias, TypeVar

from longshore.api.errors import StatusError
from longshore.client import Unreachable
from longshore.machinery.clock import Clock
from longshore.machinery.refs import CannotAdopt
from longshore.machinery.workqueue import DEFAULT_BASE, DEFAULT_CAP, Gauges, ShutDown, WorkQueue
from longshore.machinery.written import StaleCache

K = TypeVar("K", bound=Hashable)

Sync: TypeAlias = Callable[[K], Awaitable[float | None]]
"""Looks at one key. Returns in how many seconds to look again by itself, or None when only a change calls
for it. Raises when it must be tried again."""

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
        try:
            after = await sync(key)
        except Exception as err:
            _report(key, err)
            queue.add_rate_limited(key)
        else:
            queue.forget(key)
            if after is not None:
                queue.add_after(key, after)
        finally:
            queue.done(key)
        await asyncio.sleep(0)  # a sync need not have waited for anything; others want their turn too


def _report(key: Hashable, err: Exception) -> None:
    """What the next try may put right is no news; anything else is a bug."""
    if isinstance(err, StaleCache):
        log.debug("%s: trying again: %s", key, err)
    elif isinstance(err, StatusError | Unreachable | CannotAdopt):
        log.info("%s: trying again: %s", key, err)
    else:
        log.error("%s: trying again after an unexpected error", key, exc_info=err)


class Shards(Generic[K]):
    """So many queues with one worker each. `object_of` names what must be kept in order."""

    def __init__(
        self,
        clock: Clock,
        count: int,
        object_of: Callable[[K], str],
        *,
        base: float = DEFAULT_BASE,
        cap: float = DEFAULT_CAP,
        gauges: Gauges | None = None,
    ) -> None:
        self.queues = tuple(WorkQueue[K](clock, base=base, cap=cap, gauges=gauges) for _ in range(count))
        self._object_of = object_of

    def queue_of(self, key: K) -> WorkQueue[K]:
        """The queue that `key` belongs on: add it there, forget it there."""
        return self.queues[zlib.crc32(self._object_of(key).encode()) % len(self.queues)]

    async def run(self, sync: Sync[K]) -> None:
        """Runs one worker per queue until cancelled, or until all are shut down and empty."""
        async with asyncio.TaskGroup() as tasks:
            for queue in self.queues:
                tasks.create_task(_work(queue, sync))
