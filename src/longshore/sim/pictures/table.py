"""A result as tables for a terminal. Pure."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from longshore.sim.checks import spoken
from longshore.sim.over_time import drawn
from longshore.sim.sim_result import JobRow, SimResult, WindowRow
from longshore.sim.variations import Spread

MAX_JOB_ROWS = 30
OVER_TIME_COLUMNS = 48


def of(result: SimResult) -> str:
    """All tables of a result, and its remarks."""
    parts = [_jobs(result), _cron_jobs(result), _queues(result), _nodes(result), _windows(result)]
    if result.remarks:
        parts.append("".join(f"! {text}\n" for text in result.remarks))
    return "\n".join(part for part in parts if part)


def _jobs(result: SimResult) -> str:
    cron_jobs = {row.name for row in result.cron_jobs}
    own = [row for row in result.jobs if row.owner not in cron_jobs]
    rows = [_job(result, row) for row in own[:MAX_JOB_ROWS]]
    head = ("JOB", "RESULT", "QUEUED", "STARTED", "ENDED", "TOOK", "PODS", "FAILED", "WAITS FOR")
    text = columns(head, rows) if rows else ""
    return text + (f"and {len(own) - len(rows)} more Jobs; see -o json\n" if len(own) > len(rows) else "")


def _job(result: SimResult, row: JobRow) -> tuple[str, ...]:
    took = spoken(row.ended - row.queued) if row.ended is not None else ""
    return (
        row.name,
        row.result,
        clock(result, row.queued),
        clock(result, row.started),
        clock(result, row.ended),
        took,
        str(row.pods),
        str(row.failed),
        why(row),
    )


def why(row: JobRow) -> str:
    """Why it does not run, why it failed, or why it did not start at once."""
    if row.waits_for or row.result == "failed":
        return row.waits_for or row.reason
    return f"waited: {row.waited_for}" if row.waited_for else ""


def clock(result: SimResult, seconds: float | None) -> str:
    return "" if seconds is None else f"{result.clock(seconds):%d %b %H:%M:%S}"


def _cron_jobs(result: SimResult) -> str:
    rows = [
        (
            row.name,
            row.schedule,
            str(row.runs),
            str(row.complete),
            str(row.failed),
            str(len(row.skipped) + row.more_skipped),
            spoken(row.latest),
            spoken(row.longest_wait),
            spoken(row.longest_run),
            _time(result, row.earliest_end),
            _time(result, row.latest_end),
            clock(result, row.last_end),
        )
        for row in result.cron_jobs
    ]
    head = ("CRONJOB", "SCHEDULE", "RUNS", "COMPLETE", "FAILED", "SKIPPED")
    return columns((*head, "LATE", "WAIT", "RUN", "EARLIEST", "LATEST", "LAST END"), rows) if rows else ""


def _time(result: SimResult, seconds: float | None) -> str:
    return "" if seconds is None else f"{result.clock(seconds):%H:%M:%S}"


def _queues(result: SimResult) -> str:
    rows = [
        (row.name, str(row.works), f"{row.share:.0%}", spoken(row.mean_wait), spoken(row.longest_wait))
        for row in result.queues
    ]
    return columns(("QUEUE", "JOBS", "CPU SHARE", "MEAN WAIT", "LONGEST WAIT"), rows) if rows else ""


def _nodes(result: SimResult) -> str:
    names = sorted({name for node in result.nodes for name in node.used})
    rows = [
        (
            node.name,
            str(node.pods),
            *(f"{node.used.get(name, 0.0):.1%}" for name in names),
            drawn(node.over_time, OVER_TIME_COLUMNS),
        )
        for node in result.nodes[:MAX_JOB_ROWS]
    ]
    if most := max(result.waiting, default=0.0):
        blank = [""] * len(names)
        rows.append(
            ("pods that wait", f"≤ {math.ceil(most)}", *blank, drawn(result.waiting, OVER_TIME_COLUMNS, most))
        )
    return columns(("NODE", "PODS", *(name.upper() for name in names), "OVER TIME"), rows)


def _windows(result: SimResult) -> str:
    return "".join(f"{window(result, row)}\n" for row in result.windows)


def window(result: SimResult, row: WindowRow) -> str:
    """When the work of a night ends, and how long before or after its deadline."""
    day = f"{result.clock(row.at):%d %b}"
    if row.ended is None:
        return f"the window ends on {day} at {row.before}, the night does not: {row.work} has not ended"
    left = row.at - row.ended
    verdict = f"{spoken(left)} to spare" if left > 0 else f"{spoken(-left)} too late"
    ended = f"{result.clock(row.ended):%d %b %H:%M:%S}"
    return f"the night ends on {ended} with {row.work}, the window on {day} at {row.before}: {verdict}"


def of_spreads(spreads: Sequence[Spread], runs: int) -> str:
    """The percentiles over many seeds."""
    rows = [
        (
            each.name,
            f"{each.completes:.1%}",
            spoken(each.p50) if each.p50 is not None else "",
            spoken(each.p95) if each.p95 is not None else "",
        )
        for each in spreads
    ]
    return f"over {runs} seeds:\n" + columns(("WORK", "COMPLETE", "P50", "P95"), rows)


def of_choices(choices: Mapping[str, Sequence[Spread]]) -> str:
    """The median time that each piece of work takes, by choice, with differences from the first choice."""
    by_name = [{each.name: each for each in spreads} for spreads in choices.values()]
    names = dict.fromkeys(name for spreads in by_name for name in spreads)
    rows = [
        (name, *(_compared(spreads.get(name), by_name[0].get(name)) for spreads in by_name)) for name in names
    ]
    return "side by side, the median of all runs:\n" + columns(("WORK", *choices), rows)


def _compared(found: Spread | None, first: Spread | None) -> str:
    if found is None or found.p50 is None:
        return "does not end"
    text = spoken(found.p50)
    if first is not None and first.p50 is not None and round(found.p50) != round(first.p50):
        less = found.p50 < first.p50
        text += f" ({'-' if less else '+'}{spoken(abs(round(found.p50) - round(first.p50)))})"
    return text if found.completes == 1 else f"{text}, {found.completes:.0%} complete"


def columns(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Text in columns, as kubectl aligns it."""
    widths = [max(len(row[i]) for row in (head, *rows)) for i in range(len(head))]
    lines = (
        "   ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True))
        for row in (head, *rows)
    )
    return "".join(f"{line.rstrip()}\n" for line in lines)
