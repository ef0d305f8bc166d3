"""A gate before work queues: it lets through the keys that this process has to look at, until it is closed.

Controllers put every key on their queues and never know which of them were taken in. Whoever closes the gate
knows afterwards that no sync of such a key runs any more.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Hashable
from typing import Protocol


class Gated(Protocol):
    """A queue behind the gate."""

    async def abandon(self) -> None: ...


class KeyGate:
    """Open from the beginning, for the keys of which `belongs` says so."""

    def __init__(self, belongs: Callable[[Hashable], bool]) -> None:
        self._belongs, self._open = belongs, True
        self._queues: list[Gated] = []

    def attach(self, queue: Gated) -> None:
        """From now on closing the gate includes this queue."""
        self._queues.append(queue)

    def admits(self, key: Hashable) -> bool:
        return self._open and self._belongs(key)

    async def close(self) -> None:
        """Lets nothing through any more, drops what waits, and waits for the syncs that run."""
        self._open = False
        await asyncio.gather(*(queue.abandon() for queue in self._queues))
