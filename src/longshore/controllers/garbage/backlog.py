"""Feeds the dependents of deleted owners into the queue a few at a time, taking turns between owners.

Without it, a Job with ten thousand pods would delay everything that is deleted after it.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable

from longshore.machinery.queues.workqueue import WorkQueue


class Backlog:
    """Keeps at most `room` keys in `queue`, taking one key of each owner in turn."""

    def __init__(self, queue: WorkQueue[str], room: int) -> None:
        self._queue, self._room = queue, room
        self._turns: deque[tuple[str, deque[str]]] = deque()
        self._of: dict[str, deque[str]] = {}

    def __len__(self) -> int:
        return sum(map(len, self._of.values()))

    def add(self, owner: str, dependents: Iterable[str]) -> None:
        """Adds dependents behind those of the same owner that already wait."""
        waiting = self._of.get(owner)
        if waiting is None:
            waiting = self._of[owner] = deque()
            self._turns.append((owner, waiting))
        waiting.extend(dependents)
        self.feed()

    def feed(self) -> None:
        """Fills the queue. Must be called whenever a worker has finished with a key."""
        while self._turns and len(self._queue) < self._room:
            owner, waiting = self._turns.popleft()
            if waiting:
                self._queue.add(waiting.popleft())
            if waiting:
                self._turns.append((owner, waiting))
            else:
                del self._of[owner]
