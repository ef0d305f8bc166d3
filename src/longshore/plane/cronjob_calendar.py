"""Coming runs of CronJobs as a resource: `cronjobcalendars` of longshore.dev, each with its CronJob's name.

Each run has its time, the local time in the schedule's zone, and the effect of a clock change on it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from longshore.api import cron
from longshore.api.facts import own_names
from longshore.api.time import rfc3339
from longshore.api.time.instants import SECOND, Instant
from longshore.api.types import Obj
from longshore.apiserver.request.call import Call
from longshore.controllers.cronjob import timing
from longshore.controllers.scheduled import upcoming_runs
from longshore.controllers.scheduled.view import ScheduledView
from longshore.store import Key

if TYPE_CHECKING:
    from longshore.plane.plane import Plane

_MAX_RUNS: Final = 400
_DAYS: Final = 62
"""Days to look ahead: this month and the next."""


def answer(plane: Plane, call: Call) -> Obj | None:
    """The calendar that a request asks for; None if there is no such CronJob."""
    entry = plane.parts.store.get(Key("batch/cronjobs", call.namespace, call.name))
    if entry is None:
        return None
    where = {"name": call.name, "namespace": call.namespace}
    return {"metadata": where, **document(entry.obj, int(plane.clock.timestamp() * SECOND), plane.parts.zone)}


def document(cronjob: Obj, now: Instant, local: cron.Zone) -> Obj:
    """The calendar of a CronJob; `local` is the zone of schedules that name none."""
    spec = cronjob["spec"]
    notes: list[str] = []
    try:
        if spec.get("timeZone") is not None:
            cron.load(spec["timeZone"])
        schedule = cron.parse_in_zone(spec["schedule"], spec.get("timeZone"))
        when = timing.of(ScheduledView(cronjob, now, zone=local, steady_since=now), cronjob, schedule)
        begin = max(when.now, when.base)
        found = upcoming_runs.runs(schedule, when.shown_in, when.next, begin, _MAX_RUNS)
    except (cron.UnknownZone, cron.ScheduleError, cron.NeverFires) as err:
        return {"zone": "", "upcoming": [], "notes": [f"the schedule never fires: {err}"]}
    if when.delay:
        notes.append(f"each run starts {when.delay / SECOND:.1f} s after its time ({own_names.JITTER})")
    if when.bad_jitter:
        notes.append(when.bad_jitter)
    horizon = now + _DAYS * 24 * 3600 * SECOND
    return {
        "zone": when.shown_in.name,
        "upcoming": [_run(run, when.shown_in) for run in found if run.at <= horizon],
        "notes": notes,
    }


def _run(run: upcoming_runs.UpcomingRun, zone: cron.Zone) -> Obj:
    made: Obj = {"at": rfc3339.from_seconds(run.at // SECOND), "wall": upcoming_runs.shown(run.at, zone)}
    return made | ({"note": run.note} if run.note else {})
