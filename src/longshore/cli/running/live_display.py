"""The display on a terminal: a bar for each run, drawn at most ten times a second.

    pi   ━━━━━━━━━━━━━━━━━━━━━╸━━━━━━━━  312/1000   8 active   2 failed   678 waiting   41/s   0:17 left
         ██████████████▓▓░░░░░░░░░░░░░░

The second line shows the indexes of an Indexed Job from left to right: done, failed (red), running,
waiting. Under the bars are the last failures with their last lines. Only changed lines are drawn.
"""

from __future__ import annotations

import asyncio
import sys
import time
from itertools import groupby
from typing import Final

from rich.console import Console, Group, RenderableType
from rich.live import Live as RichLive
from rich.text import Text

from longshore.api import indexes
from longshore.api.terminal import harmless
from longshore.cli.printing.guarded_streams import unguarded
from longshore.cli.running import report_lines
from longshore.cli.running.display import Display
from longshore.cli.running.progress import Failed, FollowedRun

_FRAME_SECONDS: Final = 0.1
_REST_FACTOR: Final = 20.0
"""A frame is followed by a pause of 20 times its own cost: drawing takes at most 5 % of the time."""
_MIN_BAR_CELLS, _MAX_BAR_CELLS = 10, 40
_MAX_BARS: Final = 12
"""The most bars that are shown; runs that succeeded are left out first."""
_MAX_SHOWN_FAILURES: Final = 3
_FAILURE_LINES: Final = 3


class Live(Display):
    def __init__(self, console: Console | None = None) -> None:
        self._console = console or Console(file=unguarded(sys.stderr), highlight=False)
        self._live = RichLive(console=self._console, auto_refresh=False, redirect_stdout=False)
        self._runs: list[FollowedRun] = []
        self._failures: list[tuple[FollowedRun, Failed]] = []
        self._dirty = False
        self._open = False
        self._cost = 0.0
        self._lines: list[str] = []

    def say(self, text: str) -> None:
        self._console.print(Text(harmless(text)), soft_wrap=True)

    def begin(self, runs: list[FollowedRun]) -> None:
        self._runs = runs
        self._live.start()
        self._open = True
        self._draw()

    def changed(self, run: FollowedRun) -> None:
        self._dirty = True

    def failure(self, run: FollowedRun, failed: Failed) -> None:
        self._failures = [*self._failures, (run, failed)][-_MAX_SHOWN_FAILURES:]
        self._dirty = True

    def line(self, prefix: str, line: bytes) -> None:
        if not sys.stdout.isatty():
            sys.stdout.buffer.write(prefix.encode(errors="surrogateescape") + line)
            self._dirty = True  # it is flushed at the next drawing
            return
        text = prefix + line.decode(errors="replace").rstrip("\n")
        if unguarded(sys.stdout) is not sys.stdout:
            text = harmless(text)
        self._lines.append(text)  # above the bars, at the next drawing
        self._dirty = True

    async def follow(self) -> None:
        while True:
            await asyncio.sleep(max(_FRAME_SECONDS, _REST_FACTOR * self._cost))
            moving = any(run.end is None and run.active for run in self._runs)
            if self._dirty or moving:  # rate and time left change by themselves
                self._draw()

    def close(self) -> None:
        if self._open:
            self._open = False
            self._draw()
            self._live.stop()
        sys.stdout.flush()

    def _draw(self) -> None:
        self._dirty, begun = False, time.thread_time()
        lines, self._lines = self._lines, []
        sys.stdout.flush()
        if lines:
            self._console.print(Text("\n".join(lines)), soft_wrap=True)
        self._live.update(self._picture(time.monotonic()), refresh=True)
        self._cost = time.thread_time() - begun

    def _picture(self, now: float) -> RenderableType:
        shown = sorted(self._runs, key=lambda run: run.end is not None and run.end.well)[:_MAX_BARS]
        width = max((len(run.name) for run in shown), default=0)
        parts: list[RenderableType] = []
        for run in [run for run in self._runs if run in shown]:
            parts += bar(run, width, self._console.width, now)
        if len(self._runs) > len(shown):
            parts.append(Text(f"… and {len(self._runs) - len(shown)} more", style="dim"))
        for run, failure in self._failures:
            parts.append(
                Text(
                    harmless(report_lines.failed(run, failure)),
                    style="red",
                    no_wrap=True,
                    overflow="ellipsis",
                )
            )
            for line in failure.lines[-_FAILURE_LINES:]:
                parts.append(Text(f"  │ {harmless(line)}", style="dim", no_wrap=True, overflow="ellipsis"))
        return Group(*parts)


def bar(run: FollowedRun, name_width: int, width: int, now: float) -> list[Text]:
    """The one to four lines of one run. On a narrow terminal the bar is dropped first, then the numbers from
    the last to the first, then the end of the name; the count stays."""
    count, *others = _numbers(run, now)
    name_width = min(name_width, max(1, width - len(count.plain) - 3))
    room = min(_MAX_BAR_CELLS, width - name_width - len(_joined(count, others).plain) - 5)
    line = Text(_cut(run.name, name_width) + "  ", no_wrap=True, overflow="ellipsis")
    if room >= _MIN_BAR_CELLS:
        line.append_text(_bar(run, room)).append("  ")
    while others and room < _MIN_BAR_CELLS and len(line) + len(_joined(count, others).plain) >= width:
        others.pop()
    lines = [line.append_text(_joined(count, others))]
    if run.indexed and run.total and run.total > 1 and room >= _MIN_BAR_CELLS:
        strip = Text(" " * (name_width + 2), no_wrap=True, overflow="ellipsis")
        lines.append(strip.append_text(_strip(run, room)))
    said = report_lines.state(run), f"warning: {run.warning}" if run.warning else ""
    indent = " " * (name_width + 2 if room >= _MIN_BAR_CELLS else 2)
    for text in said if run.end is None else ():
        if text:
            lines.append(
                Text(indent + harmless(" ".join(text.split())), "yellow", no_wrap=True, overflow="ellipsis")
            )
    return lines


def _cut(name: str, width: int) -> str:
    return name.ljust(width) if len(name) <= width else name[: width - 1] + "…"


def _joined(count: Text, others: list[Text]) -> Text:
    return Text("   ").join([count, *others])


def _bar(run: FollowedRun, room: int) -> Text:
    if run.total is None:
        share, color = (1.0 if run.end else 0.0), "green"
    else:
        share, color = min(1.0, run.succeeded / max(1, run.total)), "green"
    if run.end is not None and not run.end.well:
        color = "red"
    lost = round(room * run.given_up / run.total) if run.total else 0
    full = int(room * share)
    text = Text("━" * full, style=color)
    half = room * share - full >= 0.5
    text.append("╸" * half, style=color)
    lost = min(lost, room - full - half)
    text.append("━" * lost, style="red")
    return text.append("━" * (room - full - half - lost), style="bright_black")


def _numbers(run: FollowedRun, now: float) -> list[Text]:
    """The count, then the other numbers, the most important first."""
    whole = f"{run.succeeded}/{run.total}" if run.total is not None else f"{run.succeeded} done"
    parts = [(whole, "bold")]
    if run.active:
        parts.append((f"{run.active} active", "cyan"))
    if run.failed:
        parts.append((f"{run.failed} failed", "red"))
    if run.waiting:
        parts.append((f"{run.waiting} waiting", "bright_black"))
    if run.end is not None:
        word = "complete" if run.end.well else f"failed: {run.end.reason}"
        took = report_lines.span(run.finished - run.started)
        parts.append((f"{word} in {took}", "green" if run.end.well else "red"))
    elif run.suspended:
        parts.append(("suspended", "yellow"))
    if (speed := run.rate(now)) >= 1 and run.succeeded > 1:
        parts.append((f"{speed:.0f}/s", ""))
    if (left := run.seconds_left(now)) is not None and run.succeeded > 1:
        parts.append((f"{report_lines.span(left)} left", ""))
    return [Text(harmless(text), style) for text, style in parts]


def _strip(run: FollowedRun, room: int) -> Text:
    """Cells that each show some indexes; the worst state of these gives the cell its colour."""
    assert run.total is not None
    cells = min(room, run.total)
    done, lost = _spread(run.done, run.total, cells), _spread(run.lost, run.total, cells)
    active = {index * cells // run.total for index in run.under_way()}
    marks = []
    for cell in range(cells):
        size = -(-(cell + 1) * run.total // cells) - -(-cell * run.total // cells)
        if lost[cell]:
            marks.append(("█", "red"))
        elif done[cell] == size:
            marks.append(("█", "green"))
        elif cell in active:
            marks.append(("▓", "cyan"))
        else:
            marks.append(("▒", "green") if done[cell] else ("░", "bright_black"))
    text = Text()
    for (mark, color), same in groupby(marks):
        text.append(mark * len(list(same)), color)
    return text


def _spread(runs: indexes.Runs, total: int, cells: int) -> list[int]:
    """The number of these indexes in each cell; index i belongs to cell i * cells // total."""
    counts = [0] * cells
    for first, last in runs:
        while first <= last:
            cell = first * cells // total
            end = min(last, -(-(cell + 1) * total // cells) - 1)
            counts[cell] += end - first + 1
            first = end + 1
    return counts
