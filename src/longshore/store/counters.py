"""Counts of the journal's work, for metrics."""

from __future__ import annotations

import msgspec


class Commit(msgspec.Struct, frozen=True):
    """One finished transaction."""

    writes: int
    bytes: int
    seconds: float
    """From the start of the commit until the event loop learned that it was durable."""


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
