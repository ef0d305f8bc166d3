"""Finds created pods that were deleted before any watch event: the cache never shows such a pod.

If a created pod is still missing after some time, though the cache is newer than the pod, its Job is synced
as by a controller that sees it for the first time.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from longshore.api.types import Obj
from longshore.controllers.volcano.job.memory import VolcanoJobMemory
from longshore.machinery.informers.cache import Cache, Key
from longshore.machinery.time.clock import Clock, Timer

PATIENCE_SECONDS: Final = 15.0
"""Seconds between two checks; the second check gives a pod up."""


class UnseenPods:
    """The Jobs for which pods were created lately. `wake` requests a sync of a Job."""

    def __init__(
        self, clock: Clock, memory: VolcanoJobMemory, pods: Cache, wake: Callable[[Key], None]
    ) -> None:
        self._clock, self._memory, self._pods, self._wake = clock, memory, pods, wake
        self._newer: dict[Key, int] = {}
        """The revision of the last pod created since the last check, by Job."""
        self._older: dict[Key, int] = {}
        self._timer: Timer | None = None

    def made(self, key: Key, pod: Obj) -> None:
        """Notes a pod that was just created."""
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
