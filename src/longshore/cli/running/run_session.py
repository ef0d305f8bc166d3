"""Follows runs to their end: shows and writes their output meanwhile, and returns the exit code."""

from __future__ import annotations

import asyncio
import contextlib
import os
import sys
import time
from argparse import Namespace
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from functools import partial
from typing import Any, Final

from longshore.api.errors import StatusError
from longshore.api.indexes import Runs
from longshore.api.types import Obj
from longshore.cli.arguments import manifest_files
from longshore.cli.main import Failure, drop
from longshore.cli.printing import objects
from longshore.cli.running import (
    display,
    each_items,
    hindrances,
    pod_templates,
    report_lines,
    result,
    run_creation,
    run_stopping,
    run_watches,
    shorthand,
)
from longshore.cli.running.place import Place
from longshore.cli.running.progress import Failed, FollowedRun
from longshore.cli.running.result_files import JobLog, ResultFiles
from longshore.cli.running.streaming import Streams, Style
from longshore.client import Client, Unreachable
from longshore.machinery.background import cancelled
from longshore.why import text as story_text
from longshore.why.kinds import EXPLANATIONS

_MAX_KEPT_STORIES = 100
"""The most objects of a throw-away run whose stories are kept."""
_FAILURES_SECONDS, _OUTPUT_SECONDS = 1.0, 5.0
"""The longest wait for failures, and for the log lines of a run that was stopped."""
_RUNNING_OUTPUT_SECONDS = 0.2
"""The longest wait for log lines of pods that still run when this command ends."""
_INCOMPLETE = "the output above is not complete: some of it could not be read"


class RunSession:
    """Follows runs to their end, from the first line of the display to the exit code."""

    def __init__(
        self,
        here: Place,
        arguments: Namespace,
        wanted: shorthand.WantedRun | None = None,
        *,
        watching: bool = False,
    ) -> None:
        """`wanted` is the command; None for manifests. With `watching`, the runs continue after the
        display."""
        self._here, self._arguments, self._wanted = here, arguments, wanted
        alone = wanted is not None and wanted.completions == 1
        self.shows_logs: bool = arguments.tag or arguments.keep_order
        if not self.shows_logs:
            self.shows_logs = alone and not arguments.output if arguments.logs is None else arguments.logs
        self._alone, self._watching = alone, watching
        self._begun = time.monotonic()
        self._joblog: JobLog | None = None
        self._results: ResultFiles | None = None
        self._display = display.chosen(arguments, logs=self.shows_logs)
        self._background: list[asyncio.Task[None]] = []
        self._streams: list[Streams] = []
        self._closed = asyncio.Event()
        """Set when standard output has lost its reader."""
        self._unwritten = ""
        """Why output could not be written; empty while it can."""
        self._told = asyncio.Event()
        """Set when a failed pod has been read."""

    def say(self, text: str) -> None:
        """Prints a line above the display."""
        self._display.say(text)

    async def run(
        self,
        manifests: list[manifest_files.Manifest],
        *,
        done: Runs = (),
        said: Sequence[str] = (),
        command: str = "",
    ) -> int:
        """Creates the objects and follows them. `done` are indexes of the Job that an earlier run completed,
        `said` are lines to print first, `command` is the command line for people."""
        changes = pod_templates.asked_for(self._arguments, logs=self.shows_logs)
        plan = await run_creation.plan(self._here, manifests, self._arguments.namespace, changes)
        plan.said[:0] = said
        for text in plan.said:
            self._display.say(text)
        if not plan.wanted:
            raise Failure(
                "nothing in these files ever ends, so there is nothing to run; use: longshore apply", 2
            )
        interrupted = run_stopping.interrupts()
        runs = await run_creation.start(self._here, plan, replace=self._arguments.replace, done=done)
        for run in runs:
            known = self._wanted.items if self._wanted is not None else None
            run.items = known.names if known is not None else each_items.names_of(run.created)
        if self._here.journal is not None:
            self._here.journal.created(runs, [obj for _, obj, _ in plan.needed], command)
        return await self.to_the_end(runs, interrupted, plan.said)

    async def to_the_end(self, runs: list[FollowedRun], interrupted: asyncio.Event, notes: list[str]) -> int:
        """Shows the runs until they have ended, or are stopped. Returns the exit code."""
        self._display.begin(runs)
        try:
            stopped = await self._follow(runs, interrupted)
            outcome = result.of(runs, stopped)
            if stopped is not None and not self._here.throw_away and not self._watching:
                await run_stopping.stop(self._here, [run for run in runs if run.end is None])
            complete = await self._settle(runs, stopped)
        finally:
            await cancelled(self._background)
            with self._printing():
                self._display.close()
        if self._closed.is_set():
            outcome = "closed"
        else:
            await self._last_words(runs, outcome)
        code = result.CODES[outcome]
        if hint := self._hint(runs[0]):
            notes.append(hint)
            self._display.say(hint)
        for problem in self._lacks(complete, runs):
            code = code or 1
            notes.append(problem)
            self._display.say(problem)
        if self._arguments.output == "json" and not self._closed.is_set():
            took = time.monotonic() - self._begun
            text = objects.as_json(result.document(runs, outcome, code, took, self._here.server, notes))
            with self._printing():
                sys.stdout.write(text)
                sys.stdout.flush()
            if self._unwritten:
                print(f"longshore: {self._unwritten}", file=sys.stderr)
                code = code or 1
        if self._here.journal is not None:
            for run in runs[:_MAX_KEPT_STORIES]:
                if story := await _story(self._here.client, run):
                    self._here.journal.story(run, story)
            self._here.journal.ended(runs, outcome, code)
        if not self._here.throw_away:
            await run_stopping.tidy(self._here, runs if self._arguments.rm else ())
        return code

    def _hint(self, run: FollowedRun) -> str:
        """A hint about variables of the caller that the command seems to lack; empty for none."""
        if self._wanted is None:
            return ""
        lines = (line for failure in run.failures for line in failure.lines)
        got = shorthand.variables(self._wanted, os.environ)
        text = shorthand.missing(lines, got, os.environ)
        return f"hint: {text}" if text else ""

    def _lacks(self, complete: bool, runs: list[FollowedRun]) -> list[str]:
        """Sentences on output and files that are missing. `complete` says whether all output was read."""
        found = [] if complete else [_INCOMPLETE]
        if self._unwritten:
            found.append(self._unwritten)
        if self._results is not None and self._results.problem:
            found.append(f"--results: {self._results.problem}")
        if self._joblog is not None and self._joblog.problem:
            found.append(self._joblog.problem)
        if problem := self._write_failed(runs[0]):
            found.append(problem)
        return found

    def _write_failed(self, run: FollowedRun) -> str:
        """Writes the items that did not complete. Returns the problem; empty if there is none."""
        path = self._arguments.failed_to
        if path is None:
            return ""
        known = self._wanted.items if self._wanted is not None else None
        items = known or each_items.Items([(name,) for name in run.items])
        if not items.rows:
            return f"--failed-to {path}: {run.title} has no items"
        return each_items.write_failed(path, items, run.unfinished(), null=self._arguments.null)

    async def _follow(self, runs: list[FollowedRun], interrupted: asyncio.Event) -> result.Outcome | None:
        """Waits until all runs have ended (None), time is up, or the person stops."""
        self._in_background(runs)
        ends = [asyncio.create_task(run_watches.to_the_end(self._here, run, self._changed)) for run in runs]
        stop: asyncio.Future[Any] = asyncio.create_task(interrupted.wait())
        closed: asyncio.Future[Any] = asyncio.create_task(self._closed.wait())
        everything: asyncio.Future[Any] = asyncio.gather(*ends)
        try:
            async with asyncio.timeout(self._arguments.timeout):
                await asyncio.wait([stop, closed, everything], return_when=asyncio.FIRST_COMPLETED)
        except TimeoutError:
            return "timed out"
        finally:
            stop.cancel()
            closed.cancel()
            if not everything.done():
                everything.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await everything
        if self._closed.is_set():
            return "closed"
        return "interrupted" if any(run.end is None for run in runs) else None

    def _in_background(self, runs: list[FollowedRun]) -> None:
        start = asyncio.create_task
        self._background.append(start(self._draw()))
        limit = "--timeout-each" if self._wanted is not None else "activeDeadlineSeconds"
        for run in runs:
            watch = run_watches.failures(self._here, run, self._failed, self._looked, limit)
            self._background.append(start(watch))
            if run.kind == "vcjob":
                self._background.append(start(hindrances.of_gang(self._here, run, self._display.changed)))
            if self.shows_logs:
                streams = self._output(run)
                self._streams.append(streams)
                self._background.append(start(streams.follow()))
        if self._arguments.joblog is not None and self._wanted is not None:
            command = partial(shorthand.shown, self._wanted)
            self._joblog = JobLog(self._arguments.joblog, self._here, runs[0], command)
            self._background.append(start(self._joblog.follow()))
        if self._arguments.results is not None:
            self._results = ResultFiles(self._arguments.results, self._here, runs[0])
            self._background.append(start(self._results.follow()))
        for namespace in dict.fromkeys(run.namespace for run in runs):
            said = hindrances.notices(self._here, namespace, runs, self._display.changed)
            self._background.append(start(said))
        self._background.append(start(hindrances.full_disks(self._here, runs, self._display.changed)))

    def _output(self, run: FollowedRun) -> Streams:
        asked = self._arguments
        in_turn = asked.keep_order and not asked.logs and run.indexed  # no two outputs are mixed
        style: Style = "tag" if asked.tag else "plain" if self._alone or in_turn else "pod"
        return Streams(self._here, run, self._line, style=style, in_order=self._arguments.keep_order)

    def _line(self, prefix: str, line: bytes) -> None:
        """Shows a line of output, as long as standard output has a reader."""
        if self._closed.is_set():
            return
        with self._printing():
            self._display.line(prefix, line)

    async def _draw(self) -> None:
        with self._printing():
            await self._display.follow()

    @contextlib.contextmanager
    def _printing(self) -> Iterator[None]:
        """Notes that standard output has no reader any more, or that its disk is full."""
        try:
            yield
        except BrokenPipeError:
            self._closed.set()
        except OSError as err:
            self._unwritten = f"output is missing, as it could not be written: {err.strerror}"
        else:
            return
        drop(sys.stdout)

    def _changed(self, run: FollowedRun) -> None:
        self._display.changed(run)
        if self._here.journal is not None:
            self._here.journal.changed(run)

    def _failed(self, run: FollowedRun, failed: Failed) -> None:
        self._display.failure(run, failed)
        if self._here.journal is not None:
            self._here.journal.failure(run, failed)

    def _looked(self, run: FollowedRun) -> None:
        self._display.changed(run)
        self._told.set()

    async def _settle(self, runs: list[FollowedRun], stopped: result.Outcome | None) -> bool:
        """Waits a moment for reports that come after the end: the last lines of failed pods, and of output.

        Returns False if lines are missing of a run that was not `stopped`."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(_FAILURES_SECONDS):
                while any(run.end is not None and run.looked_at < run.failed for run in runs):
                    self._told.clear()
                    await self._told.wait()
        complete = True
        running_on = self._here.throw_away or self._watching
        patience = _RUNNING_OUTPUT_SECONDS if running_on else _OUTPUT_SECONDS
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(None if stopped is None else patience):
                for streams in self._streams:
                    complete = await streams.finish() and complete
                if self._results is not None:
                    await self._results.finish()
        for streams in self._streams:
            streams.cancel()
        if self._joblog is not None:
            await self._joblog.finish()
        return complete or stopped is not None

    async def _last_words(self, runs: list[FollowedRun], outcome: result.Outcome) -> None:
        for run in runs:
            if run.end is not None:
                self._display.say(report_lines.ended(run))
                for line in [] if run.end.well else await _failure_story(self._here.client, run):
                    self._display.say(line)
            elif self._watching:
                self._display.say(report_lines.going_on(run))
            else:
                self._display.say(report_lines.left(run, stays=not self._here.throw_away))
            if self._can_be_retried(run):
                self._display.say(report_lines.again(run))
        if text := report_lines.summary(runs):
            self._display.say(text)
        if outcome == "timed out":
            self._display.say(f"timed out after {report_lines.span(self._arguments.timeout)}")

    def _can_be_retried(self, run: FollowedRun) -> bool:
        """Whether `longshore retry` finds a Job, and something to do for it."""
        if run.kind != "job" or (self._arguments.rm and not self._here.throw_away):
            return False
        if self._here.throw_away:
            return self._here.journal is not None and (run.end is None or not run.end.well)
        return run.end is not None and not run.end.well and run.end.reason != "Deleted"


_STORY_LINES: Final = 6
_STORY_SECONDS: Final = 2.0
"""The longest wait for the story of a run that has ended."""


async def _story(client: Client, run: FollowedRun) -> Obj | None:
    """The story of a run so far, as `longshore why -o json` prints it."""
    try:
        async with asyncio.timeout(_STORY_SECONDS):
            return await client.get(EXPLANATIONS, f"{run.kind}.{run.name}", run.namespace)
    except (TimeoutError, StatusError, Unreachable):
        return None


async def _failure_story(client: Client, run: FollowedRun) -> list[str]:
    """The last lines of the story of a failed run, as `longshore why` prints them."""
    found = await _story(client, run)
    if found is None:
        return []
    last = {"story": found["story"][-_STORY_LINES:], "now": [], "next": []}
    return [f"  {line}" for line in story_text.lines(last, None, datetime.now(UTC))]
