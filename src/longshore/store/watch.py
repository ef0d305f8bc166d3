"""Watches, by storage and namespace. A change reaches exactly the watchers of its storage and namespace.

Publishing costs one append and at most one wake-up per watcher and commit, and watchers share the lists
they get. A watcher that does not keep up is cut off (`WatchOverflow`), so no watcher can hold the server's
memory.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Sequence
from typing import TypeAlias

from longshore.store.errors import WatchOverflow
from longshore.store.types import Event

_Scope: TypeAlias = tuple[str, str | None]
Taker: TypeAlias = Callable[[list[Event]], None]
"""Takes changes in order; must not raise."""


class Watch:
    """Changes in order, as batches: `async for events in watch`. The batches are shared; read only.

    Iteration ends when the watch or the store is closed, and raises `WatchOverflow` when this
    consumer fell too far behind. One consumer per watch.
    """

    __slots__ = (
        "_after", "_batches", "_handing_over", "_hub", "_lag_bytes", "_lag_events", "_nudged", "_open",
        "_overflowed", "_taker", "_waiter", "scope",
    )  # fmt: skip

    def __init__(self, hub: Hub, scope: _Scope, after: int, replay: list[Event]) -> None:
        self.scope = scope
        self._hub = hub
        self._after = after
        self._batches: deque[list[Event]] = deque([replay] if replay else ())
        self._lag_events = 0
        self._lag_bytes = 0
        self._waiter: asyncio.Future[None] | None = None
        self._open = True
        self._overflowed = False
        self._nudged = False
        self._taker: Taker | None = None
        self._handing_over = False

    def __aiter__(self) -> Watch:
        return self

    async def __anext__(self) -> list[Event]:
        """The changes since the last call. Waits for at least one change or a nudge; a nudge alone gives an
        empty list."""
        while not self._batches:
            if self._nudged:
                self._nudged = False
                return []
            if self._overflowed:
                raise WatchOverflow
            if not self._open:
                raise StopAsyncIteration
            self._waiter = asyncio.get_running_loop().create_future()
            try:
                await self._waiter
            finally:
                self._waiter = None
        return self._take()

    def _take(self) -> list[Event]:
        self._lag_events = self._lag_bytes = 0
        batches = self._batches
        if len(batches) == 1:
            return batches.popleft()
        events = [event for batch in batches for event in batch]
        batches.clear()
        return events

    def hand_to(self, taker: Taker) -> None:
        """Passes changes to `taker` from now on, in the turn of the loop in which the consumer would get
        them. The consumer must still iterate, for nudges and for the end. A call takes a tenth of the time of
        waking the consumer through all iterators in between."""
        self._taker = taker

    def _hand_over(self) -> None:
        self._handing_over = False
        if self._batches and self._taker is not None:
            self._taker(self._take())

    @property
    def is_open(self) -> bool:
        """Whether changes still arrive: the watch was neither closed nor cut off."""
        return self._open

    def nudge(self) -> None:
        """Wakes the consumer to look at the clock, so that no wait needs a time limit."""
        self._nudged = True
        self._wake()

    def close(self) -> None:
        """Ends the watch; unread changes are dropped. Closing twice is fine."""
        if self._open:
            self._batches.clear()
            self._end()

    def _push(self, events: list[Event], size: int, max_events: int, max_bytes: int) -> None:
        if events[0].revision <= self._after:  # asked to start at a revision still to come
            events = [event for event in events if event.revision > self._after]
            if not events:
                return
        self._lag_events += len(events)
        self._lag_bytes += size
        if self._batches and (self._lag_events > max_events or self._lag_bytes > max_bytes):
            self._overflowed = True
            self._batches.clear()
            self._end()
            return
        self._batches.append(events)
        if self._taker is None or self._waiter is None:
            self._wake()
        elif not self._handing_over:
            self._handing_over = True
            asyncio.get_running_loop().call_soon(self._hand_over)

    def _end(self) -> None:
        self._open = False
        self._hub.remove(self)
        self._wake()

    def _wake(self) -> None:
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)


class _Watchers:
    """The watches of one scope, and the events they are about to get."""

    __slots__ = ("events", "size", "watches")

    def __init__(self) -> None:
        self.watches: dict[Watch, None] = {}
        self.events: list[Event] = []
        self.size = 0
        """Bytes of JSON."""


class Hub:
    """All watches, by storage and then by namespace, where None stands for all namespaces."""

    __slots__ = ("_by_storage", "_max_bytes", "_max_events")

    def __init__(self, max_lag_events: int, max_lag_bytes: int) -> None:
        self._max_events = max_lag_events
        self._max_bytes = max_lag_bytes
        self._by_storage: dict[str, dict[str | None, _Watchers]] = {}

    def __len__(self) -> int:
        return sum(len(watchers.watches) for watchers in self._all())

    def _all(self) -> list[_Watchers]:
        return [watchers for scopes in self._by_storage.values() for watchers in scopes.values()]

    def add(self, storage: str, namespace: str | None, after: int, replay: list[Event]) -> Watch:
        """A watch that gets `replay` first and then every change published after `after`."""
        watch = Watch(self, (storage, namespace), after, replay)
        scopes = self._by_storage.setdefault(storage, {})
        scopes.setdefault(namespace, _Watchers()).watches[watch] = None
        return watch

    def remove(self, watch: Watch) -> None:
        storage, namespace = watch.scope
        scopes = self._by_storage[storage]
        watches = scopes[namespace].watches
        del watches[watch]
        if not watches:
            del scopes[namespace]
            if not scopes:
                del self._by_storage[storage]

    def publish(self, events: Sequence[Event]) -> None:
        """Hands each change to its watchers."""
        reached: list[_Watchers] = []
        for event in events:
            entry = event.entry
            scopes = self._by_storage.get(entry.key.storage)
            if scopes is None:
                continue
            for watchers in (scopes.get(None), scopes.get(entry.key.namespace)):
                if watchers is not None:
                    if not watchers.events:
                        reached.append(watchers)
                    watchers.events.append(event)
                    watchers.size += len(entry.raw)
        for watchers in reached:
            batch, size = watchers.events, watchers.size
            watchers.events, watchers.size = [], 0
            for watch in list(watchers.watches):
                watch._push(batch, size, self._max_events, self._max_bytes)

    def close(self) -> None:
        """Ends every watch; changes published before are still delivered."""
        for watch in [watch for watchers in self._all() for watch in watchers.watches]:
            watch._end()
