"""Prints when a schedule fires, without a server. Dialect, zones and clock changes are Kubernetes'.

  longshore cron next '30 2 * * *' --zone America/New_York -n 5
  longshore cron next --jsonl - < rows.jsonl

With --jsonl each line is an object with schedule, tz (or null) and after. It is printed again with next,
the list of the next times in UTC (null where there is none within five years), or with error.
"""

from __future__ import annotations

import sys
import time
from argparse import ArgumentParser, ArgumentTypeError, Namespace
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any, Final

from longshore.api.time import rfc3339
from longshore.cli.arguments import flags
from longshore.cli.main import Failure
from longshore.cli.printing import columns
from longshore.controllers.scheduled.upcoming_runs import shown

if TYPE_CHECKING:
    from longshore.api import cron
    from longshore.controllers.scheduled.upcoming_runs import Run


_FLAGS = """
schedule? SCHEDULE  words       five fields, or a name such as @daily
--zone Z            text=unset  IANA time zone (default: this machine's; UTC with --jsonl)
--after T           after       start after this RFC 3339 time (default: now)
-n N                count=10    number of runs to show (default: 10)
--jsonl FILE        text=unset  read rows from this file, - for standard input
"""
count: Final = flags.whole("a whole number from 1 to 10000", 1, 10_000)


def add_arguments(parser: ArgumentParser) -> None:
    verbs = parser.add_subparsers(dest="verb", metavar="next", required=True)
    upcoming = flags.verb(verbs, "next", "print when a schedule fires")
    flags.table(upcoming, _FLAGS, after=_after, count=count)


def run(arguments: Namespace) -> int:
    from longshore.api import cron

    if (arguments.schedule is None) == (arguments.jsonl is None):
        raise Failure("give either a SCHEDULE or --jsonl\nsee: longshore cron next --help", 2)
    zone = None
    if arguments.zone is not None:
        try:
            zone = cron.load(arguments.zone)
        except cron.UnknownZone as err:
            raise Failure(f"--zone: {err}", 2) from None
    if arguments.jsonl is not None:
        return _rows(arguments.jsonl, zone or cron.UTC, arguments.n)
    return _table(arguments.schedule, zone, arguments.after, arguments.n)


def _table(text: str, zone: Any, after: int | None, count: int) -> int:
    from longshore.api import cron
    from longshore.controllers.scheduled import upcoming_runs
    from longshore.up.local_zone import local_zone

    local = local_zone()
    try:
        schedule = cron.parse_in_zone(text, None if zone is None else zone.name)
    except cron.ScheduleError as err:
        raise Failure(f"schedule {text!r}: {err}", 2) from None
    zone = schedule.zone or zone or local
    begin = time.time_ns() if after is None else after
    runs = upcoming_runs.runs(schedule, zone, lambda at: schedule.next(at, zone), begin, count)
    if not runs:
        raise Failure(f"schedule {text!r} does not fire within five years")
    print(runs_table(runs, zone, local))
    return 0


def _rows(name: str, zone: Any, count: int) -> int:
    import json

    try:
        with sys.stdin if name == "-" else open(name, encoding="utf-8") as lines:
            for row in _answers(lines, zone, count):
                print(json.dumps(row, ensure_ascii=False, separators=(",", ":")), flush=True)
    except (OSError, UnicodeDecodeError) as err:
        raise Failure(f"--jsonl {name}: {err}", 2) from None
    return 0


def _answers(lines: Iterable[str], zone: Any, count: int) -> Iterator[dict[str, Any]]:
    import json

    for line in lines:
        if not line.strip():
            continue
        try:
            row = json.loads(line)
        except json.JSONDecodeError as err:
            yield {"error": f"not JSON: {err}"}
            continue
        if not isinstance(row, dict):
            yield {"error": "not an object"}
            continue
        row.pop("next", None)
        row.pop("error", None)
        try:
            yield {**row, "next": _chain(row, zone, count)}
        except ValueError as err:
            yield {**row, "error": str(err)}


def _chain(row: dict[str, Any], zone: Any, count: int) -> list[str | None]:
    """The next times of one row; ends with None if there are no more. Raises ValueError with the fault."""
    from longshore.api import cron

    text, tz, after = row.get("schedule"), row.get("tz"), row.get("after")
    if not isinstance(text, str):
        raise ValueError("schedule: must be a string")
    if tz is not None and not isinstance(tz, str):
        raise ValueError("tz: must be a string or null")
    if tz is not None:
        cron.load(tz)
    schedule = cron.parse_in_zone(text, tz)
    if not isinstance(after, str):
        raise ValueError("after: must be an RFC 3339 time")
    at: int | None = rfc3339.parse(after)
    chain: list[str | None] = []
    while at is not None and len(chain) < count:
        at = schedule.next(at, zone)
        chain.append(None if at is None else rfc3339.from_instant(at))
    return chain


def _after(text: str) -> int:
    try:
        return rfc3339.parse(text)
    except ValueError as err:
        raise ArgumentTypeError(
            f"{text!r} is not an RFC 3339 time such as 2026-03-29T00:00:00Z: {err}"
        ) from None


def runs_table(runs: Iterable[Run], zone: cron.Zone, local: cron.Zone) -> str:
    """The runs as lines for the terminal, the header first."""
    rows = [(f"SCHEDULED ({zone.name})", f"LOCAL ({local.name})", "NOTE")]
    rows += [(shown(run.at, zone), shown(run.at, local), run.note) for run in runs]
    return "\n".join(line.rstrip() for line in columns.fitted(rows, 3).split("\n"))
