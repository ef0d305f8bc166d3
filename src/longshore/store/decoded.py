"""Keeps a bounded number of entries decoded. Everything else costs only its JSON bytes.

Decoded JSON takes about ten times the room of its bytes, so the budget is counted in bytes of JSON.
First in, first out: what is asked for again after that is decoded again, in a few microseconds.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING

from msgspec.structs import force_setattr

if TYPE_CHECKING:
    from longshore.store.types import Entry


class Decoded:
    """The entries of one store that hold their decoded view at the moment."""

    __slots__ = ("_budget", "_bytes", "_kept")

    def __init__(self, budget: int) -> None:
        self._budget = budget
        self._bytes = 0
        self._kept: deque[Entry] = deque()

    def keep(self, entry: Entry) -> None:
        """Takes in an entry that has its decoded view, and detaches the oldest ones that no longer fit."""
        self._kept.append(entry)
        self._bytes += len(entry.raw)
        while self._bytes > self._budget:
            oldest = self._kept.popleft()
            self._bytes -= len(oldest.raw)
            force_setattr(oldest, "_obj", None)
