"""Tracks how long nodes are missing, so that a node that is only seen late does not lose its pods."""

from __future__ import annotations

from collections.abc import Collection
from typing import Final

from longshore.machinery.time.clock import Clock

QUARANTINE_SECONDS: Final = 40.0


class Quarantine:
    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._since: dict[str, float] = {}

    def missing(self, names: Collection[str]) -> list[str]:
        """Notes the nodes that are missing now; returns those that have been missing for 40 seconds.

        A returned node starts over: if it is still missing at the next call, its 40 seconds begin again.
        """
        now = self._clock.monotonic()
        self._since = {name: self._since.get(name, now) for name in sorted(names)}
        due = [name for name, since in self._since.items() if now - since >= QUARANTINE_SECONDS]
        for name in due:
            del self._since[name]
        return due
