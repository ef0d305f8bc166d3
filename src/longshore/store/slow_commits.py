"""Decides how many commits go to the writer thread after one that held up the event loop.

Only commits that ran in the loop are judged. In the thread a commit also waits for the interpreter lock, up
to 5 ms beside a busy loop, however quick the disk is: judged by that, a single slow commit would send all
later ones to the thread for as long as the load lasts.
"""

from __future__ import annotations

_SLOW_SECONDS = 0.005
"""Seconds that a commit may hold up the event loop."""
_MAX_ASIDE = 64
"""Commits that go to the thread between two tries on a disk that stays slow."""


class SlowCommits:
    """Doubles the number of commits that go to the thread each time the next try in the loop is slow too."""

    __slots__ = ("_last_aside", "_left")

    def __init__(self) -> None:
        self._left = 0
        self._last_aside = 0

    @property
    def expected(self) -> bool:
        """Whether the next commit goes to the writer thread, because it may be slow."""
        return self._left > 0

    def ran_in_loop(self, seconds: float) -> None:
        if seconds > _SLOW_SECONDS:
            self._last_aside = min(max(1, 2 * self._last_aside), _MAX_ASIDE)
        else:
            self._last_aside = 0
        self._left = self._last_aside

    def ran_aside(self) -> None:
        self._left = max(0, self._left - 1)
