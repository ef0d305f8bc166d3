"""`--keep-order`: whose output is printed now. Indexes take turns, from 0 up.

A turn ends when the last pod of its index has ended and all that it wrote is printed. An index without any
pod keeps the others waiting until the run has ended.
"""

from __future__ import annotations

import asyncio
from collections import Counter


class Turns:
    def __init__(self) -> None:
        self._now = 0
        self._writers: Counter[int] = Counter()
        """Logs of each index that are not yet printed."""
        self._left = 0
        """Logs that are not yet printed, of all indexes."""
        self._over: set[int] = set()
        self._all_over = False
        self._waiting: dict[int, list[asyncio.Future[None]]] = {}

    def add(self, index: int) -> asyncio.Future[None]:
        """One more log of this index is to be printed: done when it is its turn."""
        turn = asyncio.get_running_loop().create_future()
        self._writers[index] += 1
        self._left += 1
        self._waiting.setdefault(index, []).append(turn)
        self._call()
        return turn

    def printed(self, index: int) -> None:
        """A log of this index, whose turn it is, is printed."""
        self._writers[index] -= 1
        self._left -= 1
        self._waiting[index].pop(0)
        self._call()

    def over(self, index: int) -> None:
        """No further pod of this index will come."""
        self._over.add(index)
        self._call()

    def all_over(self) -> None:
        """No further pod will come at all."""
        self._all_over = True
        self._call()

    def _call(self) -> None:
        """Wakes whoever is next."""
        while not self._writers[self._now] and (self._now in self._over or (self._all_over and self._left)):
            self._waiting.pop(self._now, None)
            self._over.discard(self._now)
            del self._writers[self._now]
            self._now += 1
        waiting = self._waiting.get(self._now)
        if waiting and not waiting[0].done():
            waiting[0].set_result(None)
