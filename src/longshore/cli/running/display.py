"""Displays of runs for people. One contract, two engines: `live_display.py` and `line_display.py`."""

from __future__ import annotations

from typing import Protocol

from longshore.cli.running.progress import Failed, Run


class Display(Protocol):
    """A display of runs. All methods are called on the event loop, up to thousands of times a second."""

    def say(self, text: str) -> None:
        """Prints a line that stays."""

    def begin(self, runs: list[Run]) -> None: ...

    def changed(self, run: Run) -> None: ...

    def failure(self, run: Run, failed: Failed) -> None: ...

    def line(self, prefix: str, line: bytes) -> None:
        """Prints a line of a container's output, with its end, on standard output."""

    async def follow(self) -> None:
        """Redraws what has changed, a few times a second, until cancelled."""

    def close(self) -> None:
        """Ends the display, before the summary is printed."""


class Quiet:
    """A display that prints nothing, for programs that want the result alone."""

    def say(self, text: str) -> None: ...

    def begin(self, runs: list[Run]) -> None: ...

    def changed(self, run: Run) -> None: ...

    def failure(self, run: Run, failed: Failed) -> None: ...

    def line(self, prefix: str, line: bytes) -> None: ...

    async def follow(self) -> None: ...

    def close(self) -> None: ...
