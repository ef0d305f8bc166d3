"""Group commit: writes that are staged while a transaction runs go together into the next one.

An idle store commits a write at once; under load the batches grow by themselves. Between two commits
there is room for one small step of housekeeping: removing dead rows, or moving the write-ahead log.
A failed commit also fails everything staged behind it, because that was computed from it.
"""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from itertools import islice

from longshore.store.batch import Batch
from longshore.store.counters import Commit, Counters
from longshore.store.errors import WriteFailed
from longshore.store.journal import Journal
from longshore.store.types import Event
from longshore.store.window import Window
from longshore.store.writer import Writer

_COMPACT_AT = 256
_COMPACT_ROWS = 1024  # more than a batch can add, so that compaction keeps up with any load


class GroupCommit:
    """Takes staged writes and reports each batch when it is durable. Without a journal that is at
    the end of the loop's turn."""

    def __init__(
        self,
        journal: Journal | None,
        window: Window,
        durable: Callable[[Batch], None],
        failed: Callable[[], None],
    ) -> None:
        self.counters = Counters()
        self.on_commit: Callable[[Commit], None] | None = None
        self._journal = journal
        self._window = window
        self._durable = durable
        self._failed = failed
        self._writer = Writer()
        self._queue: deque[Batch] = deque()
        self._running: Batch | None = None
        self._started = 0.0
        self._busy = False
        """Whether the writer has a job, or `_next` is about to give it one."""
        self._may_tidy = False
        """One step of housekeeping after each commit; none after one that failed."""

    def add(self, event: Event) -> Batch:
        """Queues one write. It is committed when this turn of the loop is over or, when a transaction
        is running, with the next one."""
        if not self._queue or self._queue[-1].full:
            self._queue.append(Batch())
        batch = self._queue[-1]
        batch.add(event)
        if not self._busy:
            self._busy = True
            asyncio.get_running_loop().call_soon(self._next)
        return batch

    async def close(self) -> None:
        """Commits what is queued, then closes the journal."""
        last = self._queue[-1] if self._queue else self._running
        if last is not None:
            with suppress(WriteFailed):  # told to those who wait for the writes
                await last.wait()
        journal, self._journal = self._journal, None
        if journal is not None:
            closed: asyncio.Future[WriteFailed | None] = asyncio.get_running_loop().create_future()
            self._writer.submit(journal.close, closed.set_result)
            await closed
            self._writer.stop()

    def _next(self) -> None:
        """Gives the writer the most urgent thing to do, or leaves it idle."""
        self._busy = False
        if self._journal is None:
            self._window.dead.clear()
            while self._queue:
                self._running, self._started = self._queue.popleft(), time.perf_counter()
                self._settle(None)
        elif not (self._may_tidy and self._tidy(self._journal)) and self._queue:
            batch = self._queue.popleft()
            append = self._journal.append
            self._busy, self._running, self._started = True, batch, time.perf_counter()
            self._writer.submit(lambda: append(batch.events), self._appended)

    def _appended(self, error: WriteFailed | None) -> None:
        self._may_tidy = error is None
        self._settle(error)
        self._next()

    def _settle(self, error: WriteFailed | None) -> None:
        batch, self._running = self._running, None
        assert batch is not None
        if error is not None:
            self.counters.failed_commits += 1
            lost = [batch, *self._queue]
            self._queue.clear()
            self._failed()
            for each in lost:
                each.settle(error)
            return
        commit = Commit(len(batch.events), batch.size, time.perf_counter() - self._started)
        self.counters.count(commit)
        self._durable(batch)
        batch.settle(None)
        if self.on_commit is not None:
            self.on_commit(commit)

    def _tidy(self, journal: Journal) -> bool:
        """Starts one step of housekeeping if one is due."""
        dead = list(islice(self._window.dead, _COMPACT_ROWS))
        if len(dead) >= _COMPACT_AT:
            revisions, through = [row.revision for row in dead], dead[-1].through
            self._writer.submit(lambda: journal.compact(revisions, through), self._compacted(len(dead)))
        elif journal.checkpoint_due:
            self._writer.submit(journal.checkpoint, self._tidied)
        else:
            return False
        self._busy = True
        return True

    def _compacted(self, rows: int) -> Callable[[WriteFailed | None], None]:
        def finished(error: WriteFailed | None) -> None:
            if error is None:
                self.counters.compacted_rows += rows
                for _ in range(rows):
                    self._window.dead.popleft()
            self._tidied(error)

        return finished

    def _tidied(self, error: WriteFailed | None) -> None:
        """Writes that came meanwhile go first; without any, the housekeeping goes on."""
        self._may_tidy = error is None and not self._queue
        self._next()
