"""Rules about the outcome of a simulation, for CI of batch schedules. Pure; a bad rule is a ValueError.

| rule | holds when |
| --- | --- |
| `done before 06:00` | every run completes before that time, of the next day if it is queued later |
| `done within 2h` | every run completes within that time after it is queued |
| `starts within 10m` | every run starts within that time after it is queued |
| `complete` | every run completes |
| `never skipped` | no run of a CronJob is skipped |

`job/x`, `vcjob/x` and `cronjob/x` name one piece of work; `cronjob/x` means all its runs.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from longshore.scripts import spreads
from longshore.sim.settings import seconds_until
from longshore.sim.sim_result import CronJobRow, JobRow, Result

_MOMENT_SECONDS: Final = 1e-6
"""Tolerance: a run that ends exactly at a time has not ended before it."""


def broken(result: Result, expect: Mapping[str, str]) -> list[str]:
    """The rules that do not hold, each in a sentence."""
    return [said for name, rule in expect.items() for said in _judge(result, name, rule)]


def _judge(result: Result, name: str, rule: str) -> Iterator[str]:
    cron_job = next((row for row in result.cron_jobs if row.name == name), None)
    runs = [row for row in result.jobs if name in (row.name, row.owner)]
    if cron_job is None and not runs:
        raise ValueError(f"expect: there is no {name} in this simulation")
    if rule == "never skipped":
        yield from _skipped(cron_job, name)
        return
    if not runs:
        yield f"{name}: {rule}: it never ran"
    words = rule.split()
    for row in runs:
        try:
            said = _one(result, row, words, rule)
        except ValueError as err:
            raise ValueError(f"expect: {name}: {rule}: {err}") from None
        if said:
            yield f"{row.name}: expected {rule}; {said}"


def _skipped(row: CronJobRow | None, name: str) -> Iterator[str]:
    if row is None:
        raise ValueError(f"expect: {name} is no CronJob, so it is never skipped")
    if row.skipped:
        count = len(row.skipped) + row.more_skipped
        yield f"{row.name}: expected never skipped; {count} runs were: {row.skipped[0].why}"


def _one(result: Result, row: JobRow, words: list[str], rule: str) -> str:
    match words:
        case ["complete"]:
            return "" if row.result == "complete" else f"it is {row.result}"
        case ["done", "before", clock]:
            return _done_by(result, row, seconds_until(clock, result.clock(row.queued)) - _MOMENT_SECONDS)
        case ["done", "within", length]:
            return _done_by(result, row, spreads.seconds(length))
        case ["starts", "within", length]:
            if row.started is None:
                return f"it never started{': ' + row.waits_for if row.waits_for else ''}"
            waited = row.started - row.queued
            return "" if waited <= spreads.seconds(length) else f"it started after {spoken(waited)}"
    raise ValueError(
        f"{rule!r} is no rule; write done before 06:00, done within 2h, starts within 10m, "
        "complete or never skipped"
    )


def _done_by(result: Result, row: JobRow, seconds: float) -> str:
    if row.result != "complete" or row.ended is None:
        return f"it is {row.result}"
    if row.ended - row.queued <= seconds:
        return ""
    return f"it was done at {result.clock(row.ended):%d %b %H:%M:%S}, after {spoken(row.ended - row.queued)}"


def spoken(seconds: float) -> str:
    """A duration as people say it: 1h12m, 45s."""
    whole = round(seconds)
    parts = []
    for unit, size in (("d", 86400), ("h", 3600), ("m", 60), ("s", 1)):
        number, whole = divmod(whole, size)
        if number:
            parts.append(f"{number}{unit}")
    return "".join(parts[:2]) or "0s"
