"""Keys that wait to be looked at, each once, some only after a while. Time is the event loop's."""

from __future__ import annotations

import asyncio
from collections.abc import Hashable
from typing import Generic, TypeVar

K = TypeVar("K", bound=Hashable)

_FIRST_PAUSE, _LONGEST_PAUSE = 0.1, 30.0


class Worklist(Generic[K]):
    """Adding a key that waits already changes nothing, unless it is now wanted sooner."""

    def __init__(self) -> None:
        self._due: dict[K, float] = {}
        self._failures: dict[K, int] = {}
        self._woken = asyncio.Event()

    def add(self, key: K, after: float = 0.0) -> None:
        """Wants `key` looked at, not before `after` seconds."""
        due = asyncio.get_running_loop().time() + after
        if due < self._due.get(key, float("inf")):
            self._due[key] = due
            self._woken.set()

    def failed(self, key: K) -> None:
        """Wants `key` again, later after each failure in a row."""
        count = self._failures[key] = self._failures.get(key, 0) + 1
        self.add(key, min(_FIRST_PAUSE * 2 ** min(count - 1, 20), _LONGEST_PAUSE))

    def succeeded(self, key: K) -> None:
        self._failures.pop(key, None)

    async def next(self) -> K:
        """Waits for the key that is due first, and takes it off the list."""
        loop = asyncio.get_running_loop()
        while True:
            self._woken.clear()
            if self._due:
                key, due = min(self._due.items(), key=lambda item: item[1])
                left = due - loop.time()
                if left <= 0:
                    del self._due[key]
                    return key
                try:
                    async with asyncio.timeout(left):
                        await self._woken.wait()
                except TimeoutError:
                    pass
            else:
                await self._woken.wait()
