"""The work of a span of time: what failed, was skipped, started late, took long."""

from __future__ import annotations

import re
import statistics
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from longshore.api.types import Obj
from longshore.cli.commands.history import Row, order

LATE_SECONDS: Final = 60.0
"""A run that started this much after its scheduled time was late."""
_SLOW_RATIO: Final = 2.0
"""A run is slow if it took this many times the usual time."""
_SLOW_SECONDS: Final = 5.0
"""Shorter runs are never called slow."""
_MIN_KNOWN_RUNS: Final = 3
"""The fewest completed runs from which a usual time is computed."""
_SKIPS: Final = ("Skipped", "TooLate", "UnknownTimeZone", "BadSchedule", "NeverFires", "NotCreated")
"""Reasons of a CronJob for which a run did not happen."""


@dataclass(frozen=True, slots=True)
class Skipped:
    """Runs of one CronJob that did not happen, for one reason."""

    cronjob: str
    namespace: str
    at: str
    """When it was decided, in RFC 3339."""
    why: str


@dataclass(frozen=True, slots=True)
class Day:
    """All that is known of a span of time. Rows are the oldest first."""

    since: float
    until: float
    rows: Sequence[Row]
    """The runs that ran within it."""
    usual: Mapping[int, float]
    """The usual seconds of a run, by the position of its row; missing if too few runs completed."""
    words: Mapping[str, str]
    """The last words of runs that failed, by the name of their record."""
    skipped: Sequence[Skipped]
    refused: Sequence[str] = field(default=())
    """Parts that could not be read: the report is not whole."""

    def failed(self) -> list[int]:
        return [at for at, row in enumerate(self.rows) if row.result in ("failed", "timed out")]

    def late(self) -> list[tuple[int, float]]:
        """Rows that started late, with the seconds."""
        found = []
        for at, row in enumerate(self.rows):
            due = scheduled(row)
            if due is not None and row.begun - due >= LATE_SECONDS:
                found.append((at, row.begun - due))
        return found

    def slow(self) -> list[int]:
        return [
            at
            for at, usual in self.usual.items()
            if (took := _took(self.rows[at])) is not None and took >= max(_SLOW_SECONDS, _SLOW_RATIO * usual)
        ]

    def counts(self) -> str:
        """`41 runs: 38 complete, 2 failed, 1 running; 3 skipped, 1 late`."""
        results: dict[str, int] = {}
        for row in self.rows:
            results[row.result] = results.get(row.result, 0) + 1
        whole = f"{len(self.rows)} run{'' if len(self.rows) == 1 else 's'}"
        parts = ", ".join(f"{count} {result}" for result, count in sorted(results.items()))
        more = [(len(self.skipped), "skipped"), (len(self.late()), "late"), (len(self.slow()), "slow")]
        extra = ", ".join(f"{count} {word}" for count, word in more if count)
        return (f"{whole}: {parts}" if parts else whole) + (f"; {extra}" if extra else "")


def of_rows(
    rows: Iterable[Row], since: float, until: float, words: Mapping[str, str], skipped: Sequence[Skipped]
) -> Day:
    """The day of these runs; those before `since` only say what is usual."""
    every = sorted(rows, key=order)
    known: dict[tuple[str, str], list[float]] = {}
    for row in every:
        if row.result == "complete" and (took := _took(row)) is not None:
            known.setdefault(group(row), []).append(took)
    mine = [row for row in every if row.begun <= until and (row.ended is None or row.ended >= since)]
    usual = {}
    for at, row in enumerate(mine):
        others = [*known.get(group(row), ())]
        if row.result == "complete" and (took := _took(row)) in others:
            others.remove(took)
        if len(others) >= _MIN_KNOWN_RUNS:
            usual[at] = statistics.median(others)
    return Day(since, until, mine, usual, words, skipped)


def group(row: Row) -> tuple[str, str]:
    """Namespace and name that runs of the same work share: those of the CronJob, else of the first Job."""
    return row.namespace, row.owner.partition("/")[2] or row.retry_of or row.name


def scheduled(row: Row) -> float | None:
    """When a run of a CronJob was due, which its name says in minutes; None for other runs."""
    found = re.fullmatch(r".*-(\d{7,9})", row.name)
    return int(found[1]) * 60.0 if found and row.owner.startswith("CronJob/") else None


def skipped_of(story: Obj, since: str) -> Iterator[Skipped]:
    """The runs that the story of a CronJob says were skipped, from `since` on."""
    about = story["about"]
    for line in story["story"]:
        if line.get("code") in _SKIPS and line["at"] >= since:
            times = f" ({line['times']} times, until {line['until']})" if line.get("times", 1) > 1 else ""
            words = f"{line['words']}{times}"
            yield Skipped(about["name"], about.get("namespace", ""), line["at"], words)


def _took(row: Row) -> float | None:
    return None if row.ended is None else row.ended - row.begun
