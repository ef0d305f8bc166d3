"""Which Jobs are a CronJob's, which changes of them wake it, and what a new schedule asks for."""

from __future__ import annotations

from longshore.api import cron
from longshore.api.facts.owners import controller_of
from longshore.api.types import Obj
from longshore.controllers.cronjob import finished, timing
from longshore.controllers.scheduled.plan import Event
from longshore.controllers.scheduled.view import View


def by_controller(job: Obj) -> tuple[str, ...]:
    """An indexer of Jobs: by namespace and the name of their controller, whatever its kind and UID."""
    ref = controller_of(job)
    return () if ref is None else (f"{job['metadata']['namespace']}/{ref['name']}",)


def owner_key(cronjob: Obj) -> str:
    meta = cronjob["metadata"]
    return f"{meta['namespace']}/{meta['name']}"


def matters(old: Obj, new: Obj) -> bool:
    """A Job that ended does, and so does a change of one that has: `decide` reads nothing else of a Job that
    changes. Looks at an hourly CronJob: 7.8 for each run, and 8.8 where every change of a Job counts
    (bench/testing.py)."""
    if finished.outcome(new) is None and finished.outcome(old) is None:
        return False
    return bool(old["metadata"]["resourceVersion"] != new["metadata"]["resourceVersion"])


def reschedule(view: View) -> float | Event:
    """Seconds until the next time of a new schedule; one that never fires is looked at now, to say so."""
    spec = view.cronjob["spec"]
    try:
        schedule = cron.parse_in_zone(spec["schedule"], spec.get("timeZone"))
    except cron.ScheduleError:
        message = f"unparseable schedule for cronjob: {spec['schedule']}"
        return Event("Warning", "UnParseableCronJobSchedule", message)
    return timing.of(view, view.cronjob, schedule).look_again() or 0.0
