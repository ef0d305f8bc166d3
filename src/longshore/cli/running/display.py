"""Displays of runs for people. One contract, two engines: `live_display.py` and `line_display.py`."""

from __future__ import annotations

import os
import sys
from argparse import Namespace
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


def chosen(arguments: Namespace, *, logs: bool) -> Display:
    """The display for these arguments and this terminal, or lack of one. With `logs`, output is shown too."""
    if arguments.output == "json" and not logs:
        return Quiet()
    if sys.stderr.isatty() and os.environ.get("TERM") != "dumb":
        from longshore.cli.running.live_display import Live

        return Live()
    from longshore.cli.running.line_display import LineDisplay

    return LineDisplay()
