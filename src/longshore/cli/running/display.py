"""Displays of runs for people: by lines, and live on a terminal (`live_display.py`)."""

from __future__ import annotations

import asyncio
import os
import sys
import time
from argparse import Namespace
from typing import Final

from longshore.cli.main import drop
from longshore.cli.running import report_lines
from longshore.cli.running.progress import Failed, FollowedRun


class Display:
    """A display of runs; this one prints nothing, for programs that want the result alone. All methods are
    called on the event loop, up to thousands of times a second."""

    def say(self, text: str) -> None:
        """Prints a line that stays."""

    def begin(self, runs: list[FollowedRun]) -> None: ...

    def changed(self, run: FollowedRun) -> None: ...

    def failure(self, run: FollowedRun, failed: Failed) -> None: ...

    def line(self, prefix: str, line: bytes) -> None:
        """Prints a line of a container's output, with its end, on standard output."""

    async def follow(self) -> None:
        """Redraws what has changed, a few times a second, until cancelled."""

    def close(self) -> None:
        """Ends the display, before the summary is printed."""


def chosen(arguments: Namespace, *, logs: bool) -> Display:
    """The display for these arguments and this terminal, or lack of one. With `logs`, output is shown too."""
    if arguments.output == "json" and not logs:
        return Display()
    if sys.stderr.isatty() and os.environ.get("TERM") != "dumb":
        from longshore.cli.running.live_display import Live

        return Live()
    return LineDisplay()


_LINE_SECONDS: Final = 1.0
_MAX_SHOWN_FAILURES: Final = 20


class LineDisplay(Display):
    def __init__(self) -> None:
        self._runs: list[FollowedRun] = []
        self._told: dict[str, tuple[float, str]] = {}
        self._said: dict[tuple[str, str], str] = {}
        self._away: set[str] = set()
        self._failures = 0

    def say(self, text: str) -> None:
        try:
            print(text, file=sys.stderr, flush=True)
        except OSError:
            drop(sys.stderr)  # nothing reads it; the exit code still tells

    def begin(self, runs: list[FollowedRun]) -> None:
        self._runs = runs
        for run in runs:
            self.say(report_lines.begun(run))
            self._told[run.uid] = (time.monotonic(), report_lines.counts(run))

    def changed(self, run: FollowedRun) -> None:
        self._tell(run, "state", report_lines.state(run))
        self._tell(run, "warning", f"warning: {run.warning}" if run.warning else "")
        if run.uid in self._away and not run.away:
            self._away.discard(run.uid)
            self._said.pop((run.uid, "state"), None)
            self.say(f"{run.title} the server is back")
        elif run.away:
            self._away.add(run.uid)
        self._progress(run)

    def _tell(self, run: FollowedRun, what: str, text: str) -> None:
        """Prints a line about the run unless the last line of its sort has the same text."""
        if text and self._said.get((run.uid, what)) != text:
            self._said[run.uid, what] = text
            self.say(f"{run.title} {text}")

    def failure(self, run: FollowedRun, failed: Failed) -> None:
        self._failures += 1
        if self._failures > _MAX_SHOWN_FAILURES:
            if self._failures == _MAX_SHOWN_FAILURES + 1:
                self.say("more failures are not shown; see: longshore get pods, or --output json")
            return
        self.say("\n".join([report_lines.failed(run, failed), *(f"  | {line}" for line in failed.lines)]))

    def line(self, prefix: str, line: bytes) -> None:
        sys.stdout.buffer.write(prefix.encode(errors="surrogateescape") + line)
        sys.stdout.buffer.flush()

    async def follow(self) -> None:
        """Prints lines that were held back, one second after the line before."""
        while True:
            await asyncio.sleep(_LINE_SECONDS)
            for run in self._runs:
                self._progress(run)

    def _progress(self, run: FollowedRun) -> None:
        if run.end is not None:
            return
        at, before = self._told[run.uid]
        now, text = time.monotonic(), report_lines.counts(run)
        if now - at >= _LINE_SECONDS and text != before:
            self._told[run.uid] = (now, text)
            self.say(f"{run.title} {text}")
