"""Nodes that are missing, and for how long. A node that is only late to be seen must not lose its pods."""

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
        """Takes note of the nodes that are missing now, and tells which of them have been for long enough.

        Those may be asked for on the server, and start over if they are still missing at the next call.
        """
        now = self._clock.monotonic()
        self._since = {name: self._since.get(name, now) for name in sorted(names)}
        due = [name for name, since in self._since.items() if now - since >= QUARANTINE_SECONDS]
        for name in due:
            del self._since[name]
        return due
