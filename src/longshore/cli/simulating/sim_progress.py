"""Progress of a long simulation, on a terminal alone: one line that is written over."""

from __future__ import annotations

import sys
import time
from types import TracebackType
from typing import Final, Self

from longshore.sim.checks import spoken

_QUIET_SECONDS: Final = 1.0
"""Short ones say nothing."""
_EVERY_SECONDS: Final = 0.2


class Progress:
    """Call it with the virtual seconds that have passed."""

    def __init__(self, seconds: float, words: str, number: int, runs: int) -> None:
        self._whole, self._begun, self._last = seconds, time.monotonic(), 0.0
        self._words = f"{words}: " if words else ""
        self._run = f"seed {number + 1} of {runs}, " if runs > 1 else ""
        self._shown = False

    def __enter__(self) -> Self:
        return self

    def __call__(self, passed: float) -> None:
        now = time.monotonic()
        if not sys.stderr.isatty() or now - self._begun < _QUIET_SECONDS or now - self._last < _EVERY_SECONDS:
            return
        self._last, self._shown = now, True
        share = f", {passed / self._whole:.0%}" if self._whole < 366 * 86400 else ""
        sys.stderr.write(f"\r\x1b[K{self._words}{self._run}{spoken(passed)} have passed{share}")
        sys.stderr.flush()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._shown:
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()
