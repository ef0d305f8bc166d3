"""CronJobs as lines: the schedule in words, the last result, the next run and a strip of the last twenty."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from longshore.api import cron
from longshore.api.time import rfc3339
from longshore.api.time.instants import Instant
from longshore.api.types import Obj
from longshore.cli.commands.history import Row, order
from longshore.cli.crontabs.schedule_text import in_words
from longshore.cli.printing.columns import Columns
from longshore.cli.running.report_lines import span
from longshore.controllers.cronjob import timing
from longshore.controllers.scheduled.upcoming_runs import shown
from longshore.controllers.scheduled.view import ScheduledView

_STRIP_RUNS: Final = 20
_MARKS: Final = {"complete": ".", "failed": "x", "deleted": "-", "suspended": "s", "running": ">"}
LEGEND: Final = "RUNS: . complete, x failed, > running, s suspended, - deleted; the newest on the right"


@dataclass(frozen=True, slots=True)
class CronJobLine:
    """One CronJob with its runs, the oldest first."""

    cronjob: Obj
    words: str
    """The schedule in words, or what is wrong with it."""
    next: Instant | None
    """None if no run is to come: it is paused, or never fires."""
    zone: cron.Zone
    runs: Sequence[Row]

    def cells(self, *, with_namespace: bool) -> list[str]:
        meta = self.cronjob["metadata"]
        last = self.runs[-1] if self.runs else None
        paused = self.cronjob["spec"].get("suspend")
        coming = "paused" if paused else shown(self.next, self.zone) if self.next is not None else "never"
        named = [meta["namespace"]] if with_namespace else []
        strip = "".join(_MARKS.get(run.result, "?") for run in self.runs)
        return [*named, meta["name"], self.words, _last(last), coming, strip]

    def document(self) -> dict[str, Any]:
        meta, spec = self.cronjob["metadata"], self.cronjob["spec"]
        return {
            "name": meta["name"],
            "namespace": meta["namespace"],
            "schedule": spec["schedule"],
            "timeZone": spec.get("timeZone"),
            "words": self.words,
            "paused": bool(spec.get("suspend")),
            "next": None if self.next is None else rfc3339.from_instant(self.next),
            "runs": [run.document() for run in self.runs],
        }


def _last(run: Row | None) -> str:
    if run is None:
        return "none yet"
    if run.ended is None:
        return f"{run.result} for {span(time.time() - run.begun)}"
    begun = time.strftime("%Y-%m-%d %H:%M", time.localtime(run.begun))
    return f"{run.result} {begun}, took {span(run.ended - run.begun)}"


def lines(cronjobs: Iterable[Obj], runs: Iterable[Row], now: Instant, local: cron.Zone) -> list[CronJobLine]:
    """The CronJobs with their runs, in the order of the CronJobs."""
    of_cronjob: dict[tuple[str, str], list[Row]] = {}
    for run in sorted(runs, key=order):
        of_cronjob.setdefault((run.namespace, run.owner), []).append(run)
    return [_line(obj, of_cronjob, now, local) for obj in cronjobs]


def _line(obj: Obj, runs: Mapping[tuple[str, str], list[Row]], now: Instant, local: cron.Zone) -> CronJobLine:
    meta, spec = obj["metadata"], obj["spec"]
    mine = runs.get((meta["namespace"], f"CronJob/{meta['name']}"), [])[-_STRIP_RUNS:]
    try:
        named = cron.load(spec["timeZone"]) if spec.get("timeZone") else None
        schedule = cron.parse(spec["schedule"])
        when = timing.of(
            ScheduledView(obj, now, zone=local, steady_since=now),
            obj,
            cron.parse_in_zone(spec["schedule"], spec.get("timeZone")),
        )
        coming = None if spec.get("suspend") else when.next(max(when.now, when.base))
    except (cron.UnknownZone, cron.ScheduleError, cron.NeverFires) as err:
        return CronJobLine(obj, f"{spec['schedule']}: {err}", None, local, mine)
    return CronJobLine(obj, in_words(schedule, named), coming, when.shown_in, mine)


def table(found: Sequence[CronJobLine], *, with_namespace: bool) -> str:
    head = [*["NAMESPACE"] * with_namespace, "NAME", "SCHEDULE", "LAST RUN", "NEXT RUN", "RUNS"]
    return Columns().lines([head, *(line.cells(with_namespace=with_namespace) for line in found)])
