"""Writes on their way to the journal: each `Staged` belongs to the `Batch` it is committed with."""

from __future__ import annotations

import asyncio

from longshore.store.errors import WriteFailed
from longshore.store.types import Entry, Event

_MAX_WRITES = 512
_MAX_BYTES = 8 << 20


class Batch:
    """Writes that become durable together or not at all."""

    __slots__ = ("_error", "_settled", "_waiters", "events", "size")

    def __init__(self) -> None:
        self.events: list[Event] = []
        self.size = 0
        """Bytes of JSON."""
        self._waiters: list[asyncio.Future[None]] = []
        self._settled = False
        self._error: WriteFailed | None = None

    @property
    def full(self) -> bool:
        """Whether further writes belong into the next batch."""
        return len(self.events) >= _MAX_WRITES or self.size >= _MAX_BYTES

    def add(self, event: Event) -> None:
        self.events.append(event)
        self.size += len(event.entry.raw)

    async def wait(self) -> None:
        """Returns when durable; raises `WriteFailed` when it will never be."""
        if not self._settled:
            waiter = asyncio.get_running_loop().create_future()  # one each: a waiter may be cancelled
            self._waiters.append(waiter)
            await waiter
        if self._error is not None:
            raise type(self._error)(self._error.detail) from self._error

    def settle(self, error: WriteFailed | None) -> None:
        """Tells all who wait how it ended."""
        self._settled = True
        self._error = error
        for waiter in self._waiters:
            if not waiter.done():
                waiter.set_result(None)
        self._waiters.clear()


class Staged:
    """A write that has its revision and is on its way to the journal."""

    __slots__ = ("_batch", "entry")

    def __init__(self, entry: Entry, batch: Batch) -> None:
        self.entry = entry
        self._batch = batch

    async def done(self) -> Entry:
        """The entry, once it is durable and visible. Raises `WriteFailed` when it could not be made
        so: then this write, and every one staged after it, never happened."""
        await self._batch.wait()
        return self.entry
