"""The coming runs of a schedule or a CronJob. Dialect, zones and clock changes are Kubernetes'."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

from longshore.api import cron
from longshore.api.facts import own_names
from longshore.api.time import rfc3339
from longshore.cli.main import Failure
from longshore.cli.printing import columns
from longshore.controllers.scheduled import upcoming_runs
from longshore.controllers.scheduled.upcoming_runs import shown
from longshore.up.local_zone import local_zone

if TYPE_CHECKING:
    from longshore.controllers.scheduled.upcoming_runs import UpcomingRun


def of_schedule(text: str, zone: Any, after: int | None, count: int) -> int:

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


def of_rows(name: str, zone: Any, count: int) -> int:
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


def of_cronjob(cronjob: dict[str, Any], now: int, count: int) -> str:
    """The coming runs of a CronJob, as lines for the terminal."""
    from longshore.controllers.cronjob import timing
    from longshore.controllers.scheduled.view import ScheduledView

    spec, local = cronjob["spec"], local_zone()
    try:
        if spec.get("timeZone") is not None:
            cron.load(spec["timeZone"])
        schedule = cron.parse_in_zone(spec["schedule"], spec.get("timeZone"))
        when = timing.of(ScheduledView(cronjob, now, zone=local, steady_since=now), cronjob, schedule)
        due, _ = when.due()
    except (cron.UnknownZone, cron.ScheduleError, cron.NeverFires) as err:
        raise Failure(f"the schedule never fires: {err}") from None
    zone = when.shown_in
    lines = [f"cronjob {cronjob['metadata']['name']}: {spec['schedule']}"]
    if schedule.zone is None:
        lines.append(f"no timeZone is set: that of the controller counts, here taken for {local.name}")
    if spec.get("suspend"):
        lines.append("suspended: nothing starts before it is resumed, and then at most the last run missed")
    if when.delay:
        lines.append(
            f"each run starts {when.delay / upcoming_runs.SECOND:.1f} s after its time ({own_names.JITTER})"
        )
    if when.bad_jitter:
        lines.append(when.bad_jitter)
    runs = upcoming_runs.runs(schedule, zone, when.next, max(when.now, when.base), count)
    if due is not None and due != timing.last_schedule(cronjob):
        runs = [upcoming_runs.UpcomingRun(due, "due now"), *runs][:count]
    return "\n".join([*lines, "", runs_table(runs, zone, local)])


def runs_table(runs: Iterable[UpcomingRun], zone: cron.Zone, local: cron.Zone) -> str:
    """The runs as lines for the terminal, the header first."""
    rows = [(f"SCHEDULED ({zone.name})", f"LOCAL ({local.name})", "NOTE")]
    rows += [(shown(run.at, zone), shown(run.at, local), run.note) for run in runs]
    return "\n".join(line.rstrip() for line in columns.fitted(rows, 3).split("\n"))
