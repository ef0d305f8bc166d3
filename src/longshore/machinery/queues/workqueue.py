"""A work queue: each key waits once, has one worker at a time, and may be added with a delay.

Adding a key that already waits changes nothing; a key added while a worker has it is handed out again after
`done`. Of several delayed adds the earliest counts, and an immediate add does not cancel a delayed one: the
promised later sync happens even if there was one in between. After a shutdown no key is accepted.
"""

from __future__ import annotations

import asyncio
import heapq
from collections import deque
from collections.abc import Callable, Hashable
from typing import Final, Generic, Protocol, TypeVar

from longshore.api.time.backoff import Doubling
from longshore.machinery.time.clock import Clock, Timer

K = TypeVar("K", bound=Hashable)

DEFAULT_PAUSES: Final = Doubling(0.005, 1000.0)
"""Pauses in seconds, as in upstream's default rate limiter."""
SHORT_PAUSES: Final = Doubling(0.005, 30.0)
"""Pauses in seconds for objects that other objects wait for: namespaces, accounts, volumes."""
_MIN_DELAY_SECONDS: Final = 1e-6
"""A delay shorter than this, below a clock's resolution, counts as over."""


class ShutDown(Exception):
    """The queue was shut down and is empty: the worker ends."""


class Gauges(Protocol):
    """The measurements of a queue; `queue_metrics.QueueMetrics` keeps them."""

    def added(self, key: Hashable) -> None: ...

    def taken(self, key: Hashable) -> None: ...

    def finished(self, key: Hashable) -> None: ...

    def retried(self) -> None: ...


class Turns(Protocol):
    """A limit on retries of all keys together; `backoff.RetryLimiter` is one."""

    def pause(self) -> float: ...


class WorkQueue(Generic[K]):
    """`pauses` are the delays of `add_rate_limited` per key; `turns` limits the retries of all keys together.
    `owner` is the controller's name for logs. Keys for which `belongs` returns false are ignored."""

    def __init__(
        self,
        clock: Clock,
        *,
        pauses: Doubling = DEFAULT_PAUSES,
        gauges: Gauges | None = None,
        turns: Turns | None = None,
        owner: str = "",
        belongs: Callable[[K], bool] | None = None,
    ) -> None:
        self._clock, self._pauses, self._gauges, self._turns = clock, pauses, gauges, turns
        self.owner, self._belongs = owner, belongs
        self._ready: deque[K] = deque()
        self._dirty: set[K] = set()
        """Keys that must be synced: those that are ready, and those added while a worker has them."""
        self._processing: set[K] = set()
        self._failures: dict[K, int] = {}
        self._due: dict[K, float] = {}
        """When each delayed key is due. Heap entries with another time are obsolete."""
        self._heap: list[tuple[float, int, K]] = []
        self._sequence = 0
        self._timer: Timer | None = None
        self._armed_for = 0.0
        self._idle: deque[asyncio.Future[None]] = deque()
        self._closed = False
        self._drained: asyncio.Future[None] | None = None

    def __len__(self) -> int:
        """How many keys are ready to be taken."""
        return len(self._ready)

    @property
    def waiting(self) -> int:
        """How many keys have a delayed add."""
        return len(self._due)

    def now(self) -> float:
        """Monotonic seconds of the queue's clock."""
        return self._clock.monotonic()

    def add(self, key: K) -> None:
        """Queues `key` for a sync: now, or, if a worker has it, after that."""
        if self._closed or key in self._dirty or not (self._belongs is None or self._belongs(key)):
            return
        self._dirty.add(key)
        if self._gauges is not None:
            self._gauges.added(key)
        if key not in self._processing:
            self._offer(key)

    def add_after(self, key: K, seconds: float) -> None:
        """Queues `key` for a sync in `seconds`, or earlier if an earlier one is pending."""
        if self._closed or not (self._belongs is None or self._belongs(key)):
            return
        if seconds <= 0:
            self.add(key)
            return
        due = self._clock.monotonic() + seconds
        if due >= self._due.get(key, float("inf")):
            return
        self._due[key] = due
        self._sequence += 1
        heapq.heappush(self._heap, (due, self._sequence, key))
        if len(self._heap) > 64 + 2 * len(self._due):
            self._heap = [(when, n, k) for when, n, k in self._heap if self._due.get(k) == when]
            heapq.heapify(self._heap)
        self._arm()

    def add_rate_limited(self, key: K, *, in_turn: bool = False) -> float:
        """Queues `key` again after a failure: later each time until `forget`. Returns the delay in seconds.

        `in_turn`: the overall limit of retries (`turns`) may delay it further.
        """
        failures = self._failures[key] = self._failures.get(key, 0) + 1
        if self._gauges is not None:
            self._gauges.retried()
        pause = self._pauses.after(failures)
        if in_turn and self._turns is not None:
            pause = max(pause, self._turns.pause())
        self.add_after(key, pause)
        return pause

    def forget(self, key: K) -> None:
        """Resets the failures of `key`; a delayed add stays."""
        self._failures.pop(key, None)

    def requeues(self, key: K) -> int:
        """The number of `add_rate_limited` calls for `key` since it was forgotten."""
        return self._failures.get(key, 0)

    async def get(self) -> K:
        """The key that is ready longest; call `done` after it. Raises `ShutDown` if none will follow."""
        while not self._ready:
            if self._closed:
                raise ShutDown
            waiter = asyncio.get_running_loop().create_future()
            self._idle.append(waiter)
            try:
                await waiter
            except asyncio.CancelledError:
                if waiter in self._idle:
                    self._idle.remove(waiter)
                elif self._ready:
                    self._wake()  # the key meant for this worker must not wait for the next add
                raise
        key = self._ready.popleft()
        self._dirty.discard(key)
        self._processing.add(key)
        if self._gauges is not None:
            self._gauges.taken(key)
        return key

    def done(self, key: K) -> None:
        """Ends the work on `key`; it is ready again if it was added meanwhile."""
        self._processing.discard(key)
        if self._gauges is not None:
            self._gauges.finished(key)
        if key in self._dirty:
            self._offer(key)
        self._tell_drained()

    def shut_down(self) -> None:
        """Accepts no more keys and drops delayed ones. Ready keys can still be taken."""
        self._closed = True
        self._due.clear()
        self._heap.clear()
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        while self._idle:
            self._wake()

    async def drain(self) -> None:
        """Shuts down and waits until workers have finished everything that was ready."""
        self.shut_down()
        if self._ready or self._processing:
            if self._drained is None:
                self._drained = asyncio.get_running_loop().create_future()
            await asyncio.shield(self._drained)

    def _offer(self, key: K) -> None:
        self._ready.append(key)
        self._wake()

    def _wake(self) -> None:
        while self._idle:
            waiter = self._idle.popleft()
            if not waiter.done():
                waiter.set_result(None)
                return

    def _tell_drained(self) -> None:
        if (
            self._drained is not None
            and not self._ready
            and not self._processing
            and not self._drained.done()
        ):
            self._drained.set_result(None)

    def _arm(self) -> None:
        """Sets the one timer of all delayed keys for the earliest of them."""
        first = self._heap[0][0]
        if self._timer is not None:
            if self._armed_for <= first:
                return
            self._timer.cancel()
        self._armed_for = first
        self._timer = self._clock.call_later(max(first - self._clock.monotonic(), 0.0), self._ring)

    def _ring(self) -> None:
        self._timer = None
        now = self._clock.monotonic() + _MIN_DELAY_SECONDS
        heap, due = self._heap, self._due
        while heap and heap[0][0] <= now:
            when, _, key = heapq.heappop(heap)
            if due.get(key) == when:
                del due[key]
                self.add(key)
        if heap:
            self._arm()
