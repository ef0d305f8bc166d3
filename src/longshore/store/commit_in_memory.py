"""Group commit of a store that keeps nothing: batches as in commit.py, without thread, chores or stopwatch.

Batches are formed, and become visible in a turn of the loop, as with a journal that is always quick, so that
on a virtual clock the same run takes the same steps. A simulated Job of a CronJob takes 8,801 calls; with
`GroupCommit` it would take 155 more (bench/sim.py --calls).
"""

from __future__ import annotations

import asyncio

from longshore.store.commit import GroupCommit
from longshore.store.counters import Commit
from longshore.store.writers import attempt


class CommitInMemory(GroupCommit):
    """Takes staged writes and reports each batch in a later turn of the loop."""

    def tidy_soon(self) -> None:
        """Nothing is kept, so nothing is tidied."""

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
            batch.settle(None)
            if self.on_commit is not None:
                self.on_commit(Commit(len(events), batch.size, 0.0))
