"""Pods that were made here and went again before any watch told of them: nobody hears of such a pod.

Some time after pods were made, the Jobs of which pods are still waited for, though the cache is newer than
they are, are looked at as by a controller that sees them for the first time.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from longshore.api.types import Obj
from longshore.controllers.volcano.job.memory import Memory
from longshore.machinery.informers.cache import Cache, Key
from longshore.machinery.time.clock import Clock, Timer

PATIENCE_SECONDS: Final = 15.0
"""Seconds between two looks; a pod is waited for until the second."""


class UnseenPods:
    """The Jobs that pods were made for lately. `wake` asks for a look at a Job."""

    def __init__(self, clock: Clock, memory: Memory, pods: Cache, wake: Callable[[Key], None]) -> None:
        self._clock, self._memory, self._pods, self._wake = clock, memory, pods, wake
        self._newer: dict[Key, int] = {}
        """The revisions of the last pods that were made since the last look."""
        self._older: dict[Key, int] = {}
        self._timer: Timer | None = None

    def made(self, key: Key, pod: Obj) -> None:
        """Waits for a pod that was just created."""
        version = pod["metadata"].get("resourceVersion") or ""
        if version.isdecimal():
            self._newer[key] = int(version)
            if self._timer is None:
                self._timer = self._clock.call_later(PATIENCE_SECONDS, self._ring)

    def stop(self) -> None:
        if self._timer is not None:
            self._timer.cancel()

    def _ring(self) -> None:
        for key, revision in self._older.items():
            if self._memory.is_making(key):
                if self._pods.revision >= revision:
                    self._memory.look_back(key)
                    self._wake(key)
                else:
                    self._newer.setdefault(key, revision)
        self._older, self._newer = self._newer, {}
        self._timer = self._clock.call_later(PATIENCE_SECONDS, self._ring) if self._older else None
