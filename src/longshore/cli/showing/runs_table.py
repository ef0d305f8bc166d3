"""Upcoming runs as a table: in the schedule's zone, in local time, and with the effect of clock changes."""

from __future__ import annotations

from collections.abc import Iterable

from longshore.api import cron
from longshore.controllers.scheduled.upcoming_runs import Run, shown


def table(runs: Iterable[Run], zone: cron.Zone, local: cron.Zone) -> str:
    """Lines for the terminal, the header first."""
    rows = [(f"SCHEDULED ({zone.name})", f"LOCAL ({local.name})", "NOTE")]
    rows += [(shown(run.at, zone), shown(run.at, local), run.note) for run in runs]
    widths = [max(len(row[column]) for row in rows) for column in (0, 1)]
    return "\n".join(f"{a:<{widths[0]}}   {b:<{widths[1]}}   {note}".rstrip() for a, b, note in rows)
