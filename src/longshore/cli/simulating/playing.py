"""Plays simulations (a single one in this process, several in parallel, one process for each core), and
formats their results in the form that the arguments ask for.

Results have the order of the questions, whichever process is quicker. If processes cannot be forked, the
simulations are played one after the other.
"""

from __future__ import annotations

import multiprocessing
import os
import sys
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import Any, Final, NamedTuple, Self

import msgspec

from longshore.api.errors import StatusError
from longshore.sim import variations
from longshore.sim.checks import spoken
from longshore.sim.pictures import page, table, timeline
from longshore.sim.settings import SimSettings
from longshore.sim.sim_result import SimResult
from longshore.sim.simulate import simulate

_questions: Sequence[SimSettings] = ()
"""The questions for forked processes: rules hold functions, which cannot be sent to a process."""


def play(questions: Sequence[SimSettings]) -> list[SimResult]:
    """Returns a result for each question. Raises ValueError or StatusError for a bad question."""
    workers = min(len(questions), _cores())
    if workers == 1:
        return [*_one_by_one(questions)]
    found: list[SimResult] = []
    # Not a Pool, which ends its processes by SIGTERM: one with a handler of ours could survive, and wait.
    pool = ProcessPoolExecutor(workers, multiprocessing.get_context("fork"))
    with _shared(questions), pool, Progress(len(questions)) as progress:
        for answer in pool.map(_answer, range(len(questions))):
            if isinstance(answer, str):
                pool.shutdown(cancel_futures=True)
                raise ValueError(answer)
            found.append(answer)
            progress.played(len(found))
    return found


def _one_by_one(questions: Sequence[SimSettings]) -> Iterator[SimResult]:
    for number, settings in enumerate(questions):
        with Progress(len(questions), number, settings.seconds) as progress:
            yield simulate(settings, progress.passed)


@contextmanager
def _shared(questions: Sequence[SimSettings]) -> Iterator[None]:
    global _questions
    _questions = questions
    try:
        yield
    finally:
        _questions = ()


def _answer(number: int) -> SimResult | str:
    """Runs in a forked process: returns the result, or what is wrong."""
    try:
        return simulate(_questions[number])
    except (KeyError, ValueError, StatusError) as err:
        return f"lacks {err}" if isinstance(err, KeyError) else str(err)


def _cores() -> int:
    return len(os.sched_getaffinity(0)) if sys.platform == "linux" else 1


_QUIET_SECONDS: Final = 1.0
"""Simulations that are shorter print no progress."""
_EVERY_SECONDS: Final = 0.2


class Progress:
    """Prints the progress of one simulation (`passed`), or of all that are played in parallel (`played`)."""

    def __init__(self, runs: int, number: int = 0, seconds: float = 0.0) -> None:
        self._runs, self._whole = runs, seconds
        self._begun, self._last = time.monotonic(), 0.0
        self._run = f"{number + 1} of {runs}: " if runs > 1 else ""
        self._shown = False

    def __enter__(self) -> Self:
        return self

    def passed(self, seconds: float) -> None:
        """Reports the virtual seconds that have passed."""
        share = f", {seconds / self._whole:.0%}" if self._whole < 366 * 86400 else ""
        self._tell(f"{self._run}{spoken(seconds)} have passed{share}")

    def played(self, number: int) -> None:
        """Reports the number of simulations that are over."""
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


SINGLE: Final = ("trace",)
"""Forms that can show only one simulation."""


class Played(NamedTuple):
    """One choice of values, in words, and its results, one for each seed."""

    words: str
    results: Sequence[SimResult]


def text(form: str, played: Sequence[Played], files: Sequence[str]) -> str:
    """The answer. Pictures show the first seed; tables and JSON all of them."""
    title = f"Simulation of {', '.join(Path(file).name for file in files) or 'a cluster'}"
    first, words = played[0].results[0], played[0].words
    shown = {f"with {each.words}": each.results[0] for each in played}
    if len(played) == 1:
        title, shown = f"{title} with {words}" if words else title, {"": first}
    match form:
        case "html":
            return page.of(timeline.of(title, shown), shown)
        case "svg":
            return timeline.svg(timeline.of(title, shown), first.zone)
        case "timeline":
            return _json(timeline.of(title, shown))
        case "trace":
            return _json(timeline.trace(first))
        case "json" if len(played) > 1:
            return _json([{"with": each.words, "results": each.results} for each in played])
        case "json":
            results = played[0].results
            return _json(results[0] if len(results) == 1 else results)
    tables = [_table(each) for each in played]
    if len(played) > 1:
        tables.append(table.of_choices({each.words: variations.spreads(each.results) for each in played}))
    return "\n".join(tables)


def _table(played: Played) -> str:
    results, first = played.results, played.results[0]
    said = (f"with {played.words}:\n" if played.words else "") + table.of(first)
    if len(results) > 1:
        said += "\n" + table.of_spreads(variations.spreads(results), len(results))
    return said


def _json(value: object) -> str:
    return (
        msgspec.json.format(msgspec.json.encode(_short(msgspec.to_builtins(value))), indent=2).decode() + "\n"
    )


def _short(value: Any) -> Any:
    """A value with its numbers as people write them: to the microsecond, and whole where they are whole."""
    match value:
        case float():
            rounded = round(value, 6)
            return int(rounded) if rounded.is_integer() else rounded
        case dict():
            return {key: _short(each) for key, each in value.items()}
        case list():
            return [_short(each) for each in value]
    return value
