"""Writes on their way to the journal: each `Staged` belongs to the `Batch` it is committed with."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import msgspec

from longshore.store.errors import WriteFailed
from longshore.store.types import Entry, Event

_MAX_WRITES = 512
_MAX_BYTES = 8 << 20


class Batch:
    """Writes that become durable together or not at all."""

    __slots__ = ("_callbacks", "_waiters", "error", "events", "full", "is_done", "size")

    def __init__(self) -> None:
        self.events: list[Event] = []
        self.size = 0
        """Bytes of JSON."""
        self.full = False
        """Whether the batch takes no further writes."""
        self._waiters: list[asyncio.Future[None]] = []
        self._callbacks: list[Callable[[WriteFailed | None], object]] = []
        self.is_done = False
        """Whether the batch is durable, or has failed with `error`."""
        self.error: WriteFailed | None = None

    def add(self, event: Event) -> None:
        self.events.append(event)
        self.size += len(event.entry.raw)
        if self.size >= _MAX_BYTES or len(self.events) >= _MAX_WRITES:
            self.full = True

    def waiter(self) -> asyncio.Future[None]:
        """A future that is done once the batch is done. Only for a batch that is not done yet."""
        waiter = asyncio.get_running_loop().create_future()  # one each: a waiter may be cancelled
        self._waiters.append(waiter)
        return waiter

    def failure(self) -> WriteFailed:
        """A fresh error for one waiter: each waiter raises an error of its own, with its own traceback."""
        assert self.error is not None
        failure = type(self.error)(self.error.detail)
        failure.__cause__ = self.error
        return failure

    def then(self, callback: Callable[[WriteFailed | None], object]) -> None:
        """Calls `callback` in a later turn of the loop: with None once the batch is durable, or with the
        error if its commit failed. Spares callers a task that would only wait."""
        if self.is_done:
            asyncio.get_running_loop().call_soon(callback, self.error)
        else:
            self._callbacks.append(callback)

    def finish(self, error: WriteFailed | None) -> None:
        """Wakes every waiter and schedules every callback."""
        self.is_done = True
        self.error = error
        for waiter in self._waiters:
            if not waiter.done():
                waiter.set_result(None)
        self._waiters.clear()
        if self._callbacks:
            loop = asyncio.get_running_loop()
            for callback in self._callbacks:
                loop.call_soon(callback, error)
            self._callbacks.clear()


class Staged(msgspec.Struct, frozen=True, eq=False):
    """A write that has its revision and is on its way to the journal."""

    entry: Entry
    _batch: Batch

    async def done(self) -> Entry:
        """The entry, once it is durable and visible. Raises `WriteFailed` if the commit failed: then neither
        this write nor any write staged after it has happened."""
        batch = self._batch
        if not batch.is_done:
            await batch.waiter()
        if batch.error is not None:
            raise batch.failure()
        return self.entry

    def then(self, callback: Callable[[WriteFailed | None], object]) -> None:
        """Calls `callback` once the write is durable, or with the error. Needs no task that waits, unlike
        `done`."""
        self._batch.then(callback)
