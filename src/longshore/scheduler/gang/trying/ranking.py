"""The nodes that have room for tasks of one shape now, the best first.

A cycle that places a thousand tasks on a hundred nodes asks for the best node a thousand times, and each time
one node has changed. So the nodes are in a heap, and only changed ones are scored again.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterable
from typing import TypeAlias

Rank: TypeAlias = tuple[float, int]
"""The sort key of a node: higher scores first; of equal scores, the node known first."""


class Ranking:
    """Ranks nodes by name. `score` returns a node's present score; None if it has no room."""

    def __init__(self, names: Iterable[str], score: Callable[[str], float | None]) -> None:
        self._score = score
        self._numbers = {name: number for number, name in enumerate(names)}
        self._ranks: dict[str, Rank] = {}
        self._heap: list[tuple[Rank, str]] = []
        self._changed = [*self._numbers]

    def changed(self, name: str) -> None:
        """Marks a node to be scored again."""
        self._changed.append(name)

    def best(self) -> str | None:
        """The name of the best node; None if none has room."""
        ranks, heap = self._ranks, self._heap
        for name in self._changed:
            score = self._score(name)
            if score is None:
                ranks.pop(name, None)
            else:
                rank = ranks[name] = -score, self._numbers[name]
                heapq.heappush(heap, (rank, name))
        self._changed.clear()
        while heap:
            rank, name = heap[0]
            if ranks.get(name) == rank:
                return name
            heapq.heappop(heap)  # as the node was before
        return None
