"""Group commit: writes that are staged while a transaction runs share the next transaction.

An idle store commits a write at once. Under load a batch grows while a transaction runs, and for up to two
turns of the event loop if each turn brings more writes. With durability `normal`, a commit only reaches the
page cache: a small one then runs in the event loop, as it takes less time than waking a thread
(`bench/store.py`). A commit that may wait for a disk goes to the writer thread. Between two commits there is
room for one small step of housekeeping: removing dead rows, or a chore of the journal's own.

A failed commit also fails every write staged after it, because those writes were computed from it.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from functools import partial
from itertools import islice

import msgspec

from longshore.store.batch import Batch
from longshore.store.errors import WriteFailed
from longshore.store.journal import Journal
from longshore.store.types import Event
from longshore.store.window import Window
from longshore.store.writers import Writer, attempt

# ---- Counts of the journal's work, for metrics.


class Commit(msgspec.Struct, frozen=True):
    """One finished transaction."""

    writes: int
    bytes: int
    seconds: float
    """Seconds from the start of the commit until the event loop learned of its end."""


class Counters(msgspec.Struct):
    """Sums since the store was opened."""

    commits: int = 0
    writes: int = 0
    bytes: int = 0
    failed_commits: int = 0
    compacted_rows: int = 0

    def count(self, commit: Commit) -> None:
        self.commits += 1
        self.writes += commit.writes
        self.bytes += commit.bytes


_COMPACTION_MIN_ROWS = 256
_COMPACTION_MAX_ROWS = 1024  # more than one batch adds, so that compaction keeps up
_GATHERING_TURNS = (
    2  # turns of the event loop that a growing batch waits: enough for writers that are ready to run
)


class GroupCommit:
    """Takes staged writes and reports each batch when it is durable."""

    def __init__(
        self,
        journal: Journal,
        writer: Writer,
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
        self._writer = writer
        self._queue: deque[Batch] = deque()
        self._running: Batch | None = None
        self._started = 0.0
        self._busy = False
        """Whether the writer thread has a job, or `_gather` is about to run."""
        self._in_loop = False
        """Whether the commit under way runs in the event loop."""
        self._slow = SlowCommits()
        self._may_tidy = False
        """Whether one step of housekeeping may run: after each commit, and after a good step without new
        writes."""
        self._closing = False

    def add(self, event: Event, *, joined: bool) -> Batch:
        """Queues one write. The write is committed at the end of this turn of the loop or, while a
        transaction runs, with the next one. A `joined` write is always committed with the write queued
        before it."""
        queue = self._queue
        if not queue or (queue[-1].full and not joined):
            queue.append(Batch())
        batch = queue[-1]
        batch.add(event)
        if not self._busy:
            self._busy = True
            asyncio.get_running_loop().call_soon(self._gather, 1, _GATHERING_TURNS)
        return batch

    def tidy_soon(self) -> None:
        """Starts the journal's chores soon, also when there are no writes."""
        self._may_tidy = True
        if not self._busy and not self._closing:
            self._busy = True
            asyncio.get_running_loop().call_soon(self._next)

    async def drained(self) -> None:
        """Returns when every write that is queued or under way is durable, or has failed."""
        last = self._queue[-1] if self._queue else self._running
        if last is not None:
            await last.waiter()  # the waiters of the writes get the error

    async def close(self) -> None:
        """Commits every queued write, then closes the journal."""
        await self.drained()
        self._closing = True
        closed: asyncio.Future[WriteFailed | None] = asyncio.get_running_loop().create_future()
        self._writer.submit(self._journal.close, closed.set_result)
        await closed
        self._writer.stop()

    def _gather(self, seen: int, turns: int) -> None:
        """Waits another turn of the loop if the last turn brought more than the `seen` writes: busy
        writers share a transaction, and a single writer does not wait."""
        batch = self._queue[0]
        writes = len(batch.events)
        if turns and writes > seen and not batch.full and self._journal.is_quick(batch, self._slow.expected):
            asyncio.get_running_loop().call_soon(self._gather, writes, turns - 1)
        else:
            self._next()

    def _next(self) -> None:
        """Works through the queue until the writer thread has a job or nothing is left to do."""
        self._busy = False
        while not self._tidy() and self._queue:
            batch = self._queue.popleft()
            self._running, self._started = batch, self._journal.stopwatch()
            self._in_loop = self._journal.is_quick(batch, self._slow.expected)
            if not self._in_loop:
                self._busy = True
                self._writer.submit(partial(self._journal.append, batch.events), self._appended)
                return
            self._finish(attempt(self._journal.append, batch.events))

    def _appended(self, error: WriteFailed | None) -> None:
        self._finish(error)
        self._next()

    def _finish(self, error: WriteFailed | None) -> None:
        batch, self._running = self._running, None
        assert batch is not None
        seconds = self._journal.stopwatch() - self._started
        if self._in_loop:
            self._slow.ran_in_loop(seconds)
        else:
            self._slow.ran_aside()
        self._may_tidy = True
        if error is not None:
            self._lose(batch, error)
            return
        commit = Commit(len(batch.events), batch.size, seconds)
        self.counters.count(commit)
        self._durable(batch)
        batch.finish(None)
        if self.on_commit is not None:
            self.on_commit(commit)

    def _lose(self, batch: Batch, error: WriteFailed) -> None:
        """Fails the waiters of a failed commit, and those of all writes staged after it."""
        self.counters.failed_commits += 1
        lost = [batch, *self._queue]
        self._queue.clear()
        self._failed()
        for each in lost:
            each.finish(error)

    def _tidy(self) -> bool:
        """Starts one step of housekeeping if one is allowed and due."""
        if not self._may_tidy or self._closing:
            return False
        dead = self._window.dead
        chore = self._journal.chore()
        if chore is not None:
            self._writer.submit(chore, self._tidied)
        elif len(dead) >= _COMPACTION_MIN_ROWS:
            rows = list(islice(dead, _COMPACTION_MAX_ROWS))
            compact = partial(self._journal.compact, [row.revision for row in rows], rows[-1].through)
            self._writer.submit(compact, partial(self._compacted, len(rows)))
        else:
            return False
        self._busy = True
        return True

    def _compacted(self, rows: int, error: WriteFailed | None) -> None:
        if error is None:
            self.counters.compacted_rows += rows
            for _ in range(rows):
                self._window.dead.popleft()
        self._tidied(error)

    def _tidied(self, error: WriteFailed | None) -> None:
        """Commits the writes that arrived meanwhile; without any, housekeeping goes on."""
        self._may_tidy = error is None and not self._queue and not self._closing
        self._next()


_SLOW_SECONDS = 0.005
"""Seconds that a commit may hold up the event loop."""
_MAX_ASIDE_COMMITS = 64
"""Commits that go to the thread between two tries in the loop, on a disk that stays slow."""


class SlowCommits:
    """Decides how many commits go to the writer thread after one that held up the event loop: twice as many
    each time the next try in the loop is slow too.

    Only commits that ran in the loop are judged. In the thread a commit also waits for the interpreter lock,
    up to 5 ms beside a busy loop, however quick the disk is. If those commits were judged, one slow commit
    would keep all later ones in the thread under load.
    """

    __slots__ = ("_last_aside", "_left")

    def __init__(self) -> None:
        self._left = 0
        self._last_aside = 0

    @property
    def expected(self) -> bool:
        """Whether the next commit goes to the writer thread, because it may be slow."""
        return self._left > 0

    def ran_in_loop(self, seconds: float) -> None:
        if seconds > _SLOW_SECONDS:
            self._last_aside = min(max(1, 2 * self._last_aside), _MAX_ASIDE_COMMITS)
        else:
            self._last_aside = 0
        self._left = self._last_aside

    def ran_aside(self) -> None:
        self._left = max(0, self._left - 1)


class CommitInMemory(GroupCommit):
    """Group commit of a store that keeps nothing: without thread, chores or stopwatch.

    Batches become visible in the turn of the loop in which a quick journal would show them, so a run on a
    virtual clock repeats step by step. A simulated Job of a CronJob takes 8,801 calls; with `GroupCommit` it
    would take 155 more (bench/sim.py --calls).
    """

    def tidy_soon(self) -> None:
        """Does nothing: nothing is kept."""

    def _gather(self, seen: int, turns: int) -> None:
        batch = self._queue[0]
        writes = len(batch.events)
        if turns and writes > seen and not batch.full:
            asyncio.get_running_loop().call_soon(self._gather, writes, turns - 1)
        else:
            self._next()

    def _next(self) -> None:
        self._busy = False
        queue = self._queue
        while queue:
            batch = queue.popleft()
            events = batch.events
            error = attempt(self._journal.append, events)
            if error is not None:
                self._lose(batch, error)
                return
            counters = self.counters
            counters.commits += 1
            counters.writes += len(events)
            counters.bytes += batch.size
            self._durable(batch)
            batch.finish(None)
            if self.on_commit is not None:
                self.on_commit(Commit(len(events), batch.size, 0.0))
