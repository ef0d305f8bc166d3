"""Rules about the outcome of a simulation, for CI of batch schedules. Pure; a bad rule is a ValueError.

| rule | holds when |
| --- | --- |
| `done before 06:00` | every run completes before that time, of the next day if it is queued later |
| `done within 2h` | every run completes within that time after it is queued |
| `starts within 10m` | every run starts within that time after it is queued |
| `complete` | every run completes |
| `never skipped` | no run of a CronJob is skipped |

`job/x`, `vcjob/x` and `cronjob/x` name one piece of work; `cronjob/x` means all its runs. A name may be a
pattern, such as `cronjob/*`. Rules are read, and their names looked up, before anything is simulated.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from datetime import datetime, time, timedelta
from fnmatch import fnmatchcase
from typing import Any, Final, NamedTuple

from longshore.api.types import Obj
from longshore.scripts import spreads
from longshore.sim.sim_result import JobRow, SimResult, WindowRow

_MOMENT_SECONDS: Final = 1e-6
"""Tolerance: a run that ends exactly at a time has not ended before it."""
_BEFORE, _WITHIN, _STARTS, _COMPLETE, _NEVER = (
    "done before", "done within", "starts within", "complete", "never skipped",
)  # fmt: skip
_WITH_TIME: Final = (_BEFORE, _WITHIN, _STARTS)


class Expectation(NamedTuple):
    """One rule about one piece of work, or about all that a pattern matches."""

    name: str
    rule: str
    time: str = ""
    """The time of day or the duration in the rule."""

    @property
    def text(self) -> str:
        return f"{self.rule} {self.time}".strip()


def expectations(document: Any) -> tuple[Expectation, ...]:
    """Reads `expect`: rules by name, each a text or a list of texts; or a list of such mappings."""
    items = document if isinstance(document, list) else [document or {}]
    found = []
    for each in items:
        if not isinstance(each, dict):
            raise ValueError(f"expect: {each!r} is no mapping of a name to a rule, such as job/x: complete")
        for name, rules in each.items():
            found += [_read(str(name), str(rule)) for rule in (rules if isinstance(rules, list) else [rules])]
    return tuple(found)


def _read(name: str, text: str) -> Expectation:
    words = " ".join(text.split())
    rule = next((each for each in _WITH_TIME if words.startswith(f"{each} ")), words)
    given = words.removeprefix(rule).strip()
    try:
        if rule == _BEFORE:
            _time_of_day(given)
        elif rule in _WITH_TIME:
            spreads.seconds(given)
        elif rule not in (_COMPLETE, _NEVER):
            raise ValueError(
                f"{text!r} is no rule; write done before 06:00, done within 2h, starts within 10m, "
                "complete or never skipped"
            )
        elif rule == _NEVER and name.rpartition("/")[0].rpartition("/")[2] in ("job", "vcjob"):
            raise ValueError(f"{name} is no CronJob, so it is never skipped")
    except ValueError as err:
        raise ValueError(f"expect: {name}: {text}: {err}") from None
    return Expectation(name, rule, given)


def check_names(expect: Sequence[Expectation], objects: Sequence[Obj]) -> None:
    """Raises ValueError for a name of work that the manifests do not have, and that nothing in them makes."""
    names, made = set[str](), set[str]()
    for obj in objects:
        meta, kind = obj["metadata"], obj["kind"].lower()
        word = "vcjob" if kind == "job" and obj["apiVersion"].startswith("batch.volcano.sh/") else kind
        space = meta.get("namespace") or "default"
        for each in (word, *_MAKES.get(word, ())):
            full = f"{each}/{meta.get('name') or meta.get('generateName')}"
            (made if each != word or "name" not in meta else names).add(
                full if space == "default" else f"{space}/{full}"
            )
    for name in dict.fromkeys(each.name for each in expect):
        sure = re.split(r"[*?[]", name)[0]  # the text before the first pattern
        if not any(fnmatchcase(each, name) for each in names) and not any(
            sure.startswith(each) or (sure != name and each.startswith(sure)) for each in made
        ):
            raise ValueError(f"expect: there is no {name} in this simulation")


_MAKES: Final = {"cronjob": ("job", "vcjob"), "jobflow": ("vcjob",)}
"""Kinds of work whose names begin with that of the work that makes them."""


def broken(result: SimResult, expect: Sequence[Expectation]) -> list[str]:
    """The rules that do not hold, each in a sentence."""
    return [said for each in expect for said in _judge(result, each)]


def _judge(result: SimResult, each: Expectation) -> Iterator[str]:
    if each.rule == _NEVER:
        for row in result.cron_jobs:
            if row.skipped and fnmatchcase(row.name, each.name):
                count = len(row.skipped) + row.more_skipped
                yield f"{row.name}: expected never skipped; {count} runs were: {row.skipped[0].why}"
        return
    runs = [*_runs(result, each.name)]
    if not runs:
        yield f"{each.name}: {each.text}: it never ran"
    for run in runs:
        if said := _one(result, run, each):
            yield f"{run.name}: expected {each.text}; {said}"


def _runs(result: SimResult, name: str) -> Iterator[JobRow]:
    return (row for row in result.jobs if any(fnmatchcase(word, name) for word in (row.name, row.owner)))


def _one(result: SimResult, row: JobRow, each: Expectation) -> str:
    if each.rule == _STARTS:
        if row.started is None:
            return f"it never started{': ' + row.waits_for if row.waits_for else ''}"
        waited = row.started - row.queued
        return "" if waited <= spreads.seconds(each.time) else f"it started after {spoken(waited)}"
    if row.result != "complete" or row.ended is None:
        return f"it is {row.result}"
    limit = row.ended
    if each.rule == _BEFORE:
        limit = _deadline(result, row, each.time) - _MOMENT_SECONDS
    elif each.rule == _WITHIN:
        limit = row.queued + spreads.seconds(each.time)
    if row.ended <= limit:
        return ""
    return f"it was done at {result.clock(row.ended):%d %b %H:%M:%S}, after {spoken(row.ended - row.queued)}"


def _deadline(result: SimResult, row: JobRow, clock: str) -> float:
    return row.queued + seconds_until(clock, result.clock(row.queued))


def windows(result: SimResult, expect: Sequence[Expectation]) -> list[WindowRow]:
    """For each deadline at a time of day, the night whose last work ended latest."""
    found = []
    for clock in dict.fromkeys(each.time for each in expect if each.rule == _BEFORE):
        names = [each.name for each in expect if (each.rule, each.time) == (_BEFORE, clock)]
        runs = {id(row): row for name in names for row in _runs(result, name) if row.result != "deleted"}
        rows = [WindowRow(clock, _deadline(result, row, clock), row.ended, row.name) for row in runs.values()]
        found += sorted(rows, key=lambda row: math.inf if row.ended is None else row.ended - row.at)[-1:]
    return found


def seconds_until(clock: str, moment: datetime) -> float:
    """The seconds from a moment to a time of day in its zone, of the next day if that is past.

    Raises ValueError for a text that is no time of day."""
    at = _time_of_day(clock)
    end = moment.replace(hour=at.hour, minute=at.minute, second=0, microsecond=0)
    if end <= moment:
        end += timedelta(days=1)
    return end.timestamp() - moment.timestamp()  # clocks may change meanwhile


def _time_of_day(text: str) -> time:
    try:
        return time.fromisoformat(text)
    except ValueError:
        raise ValueError(f"{text!r} is no time of day, such as 06:00") from None


def spoken(seconds: float) -> str:
    """A duration as people say it: 1h12m, 45s."""
    whole = round(seconds)
    parts = []
    for unit, size in (("d", 86400), ("h", 3600), ("m", 60), ("s", 1)):
        number, whole = divmod(whole, size)
        if number:
            parts.append(f"{number}{unit}")
    return "".join(parts[:2]) or "0s"
