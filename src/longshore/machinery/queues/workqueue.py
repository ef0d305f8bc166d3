"""Keys that wait to be looked at: each once, one worker per key at a time, some only after a while.

A key added while it waits changes nothing; one added while a worker has it is handed out again after
`done`. A delayed add keeps the earliest time asked for, and an immediate add does not cancel it: a
promise to look again is kept even if somebody looked in between. After a shutdown nothing is taken in.
"""

from __future__ import annotations

import asyncio
import heapq
from collections import deque
from collections.abc import Hashable
from typing import Any, Final, Generic, Protocol, TypeVar

from longshore.api.time.doubling import Doubling
from longshore.machinery.time.clock import Clock, Timer

K = TypeVar("K", bound=Hashable)

DEFAULT_PAUSES: Final = Doubling(0.005, 1000.0)
"""Seconds of upstream's default rate limiter."""
SHORT_PAUSES: Final = Doubling(0.005, 30.0)
"""For objects that others wait for: namespaces, accounts, volumes."""
_MIN_DELAY_SECONDS: Final = 1e-6
"""Delays below a clock's resolution count as passed."""


class ShutDown(Exception):
    """The queue was shut down and is empty: the worker may go home."""


class Gauges(Protocol):
    """The measurements of a queue; `metrics.QueueMetrics` keeps them."""

    def added(self, key: Hashable) -> None: ...

    def taken(self, key: Hashable) -> None: ...

    def finished(self, key: Hashable) -> None: ...

    def retried(self) -> None: ...

    def dropped(self, key: Hashable) -> None: ...


class Gate(Protocol):
    """Says which keys are taken in; `key_gate.KeyGate` is one."""

    def attach(self, queue: WorkQueue[Any]) -> None: ...

    def admits(self, key: Hashable) -> bool: ...


class Turns(Protocol):
    """A limit for tries of all keys together; `retry_limiter.RetryLimiter` is one."""

    def pause(self) -> float: ...


class WorkQueue(Generic[K]):
    """`pauses` are those of `add_rate_limited`, for each key; `turns` limits all of them together. `owner` is
    the controller's name, for logs. A key that the `gate` does not admit is not taken in."""

    def __init__(
        self,
        clock: Clock,
        *,
        pauses: Doubling = DEFAULT_PAUSES,
        gauges: Gauges | None = None,
        turns: Turns | None = None,
        owner: str = "",
        gate: Gate | None = None,
    ) -> None:
        self._clock, self._pauses, self._gauges, self._turns = clock, pauses, gauges, turns
        self.owner, self._gate = owner, gate
        if gate is not None:
            gate.attach(self)
        self._ready: deque[K] = deque()
        self._dirty: set[K] = set()
        """Keys that must be looked at: those that are ready, and those added while being processed."""
        self._processing: set[K] = set()
        self._failures: dict[K, int] = {}
        self._due: dict[K, float] = {}
        """When each delayed key is due; what the heap says otherwise is out of date."""
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
        """How many keys are added for later."""
        return len(self._due)

    def add(self, key: K) -> None:
        """Wants `key` looked at, now or, if a worker has it, after that."""
        if self._closed or key in self._dirty or not (self._gate is None or self._gate.admits(key)):
            return
        self._dirty.add(key)
        if self._gauges is not None:
            self._gauges.added(key)
        if key not in self._processing:
            self._offer(key)

    def add_after(self, key: K, seconds: float) -> None:
        """Wants `key` looked at in so many seconds, or earlier if that was asked for before."""
        if self._closed or not (self._gate is None or self._gate.admits(key)):
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
        """Wants `key` again after a failure: later each time until `forget`. Returns in how many seconds.

        `in_turn`: no earlier than its turn among all keys that failed.
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
        """Takes back the failures of `key`; a delayed add stays."""
        self._failures.pop(key, None)

    def requeues(self, key: K) -> int:
        """How often `key` was added rate limited since it was forgotten."""
        return self._failures.get(key, 0)

    async def get(self) -> K:
        """The key that is ready for longest; `done` must follow. Raises `ShutDown` when none will come."""
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
        """The worker has finished with `key`; it is ready again if it was added meanwhile."""
        self._processing.discard(key)
        if self._gauges is not None:
            self._gauges.finished(key)
        if key in self._dirty:
            self._offer(key)
        self._tell_drained()

    def shut_down(self) -> None:
        """Takes nothing in any more and drops delayed keys. What is ready can still be taken."""
        self._closed = True
        self._drop_delayed()
        while self._idle:
            self._wake()

    async def drain(self) -> None:
        """Shuts down and waits until workers have finished everything that was ready."""
        self.shut_down()
        await self._emptied()

    async def abandon(self) -> None:
        """Drops every key that waits, and waits until workers have finished with those that they have. The
        gate must be closed; workers stay."""
        if self._gauges is not None:
            for key in self._dirty:
                self._gauges.dropped(key)
        self._ready.clear()
        self._dirty.clear()
        self._failures.clear()
        self._drop_delayed()
        await self._emptied()

    def _drop_delayed(self) -> None:
        self._due.clear()
        self._heap.clear()
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    async def _emptied(self) -> None:
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
        """One timer for all delayed keys, set for the first of them."""
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
