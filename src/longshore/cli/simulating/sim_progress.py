"""Progress of long simulations, on a terminal alone: one line that is written over."""

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
    """Tells of one simulation of several (`passed`), or of all that are played side by side (`played`)."""

    def __init__(self, runs: int, number: int = 0, seconds: float = 0.0) -> None:
        self._runs, self._whole = runs, seconds
        self._begun, self._last = time.monotonic(), 0.0
        self._run = f"{number + 1} of {runs}: " if runs > 1 else ""
        self._shown = False

    def __enter__(self) -> Self:
        return self

    def passed(self, seconds: float) -> None:
        """So many virtual seconds have passed."""
        share = f", {seconds / self._whole:.0%}" if self._whole < 366 * 86400 else ""
        self._tell(f"{self._run}{spoken(seconds)} have passed{share}")

    def played(self, number: int) -> None:
        """So many simulations are over."""
        self._tell(f"{number} of {self._runs} are played")

    def _tell(self, words: str) -> None:
        now = time.monotonic()
        if not sys.stderr.isatty() or now - self._begun < _QUIET_SECONDS or now - self._last < _EVERY_SECONDS:
            return
        self._last, self._shown = now, True
        sys.stderr.write(f"\r\x1b[K{words}")
        sys.stderr.flush()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._shown:
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()
