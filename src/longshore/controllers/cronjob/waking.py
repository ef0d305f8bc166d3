"""Indexes Jobs by CronJob, says which of their changes wake it, and reschedules after a new schedule."""

from __future__ import annotations

from longshore.api import cron
from longshore.api.facts.owners import controller_of
from longshore.api.types import Obj
from longshore.controllers.cronjob import finished, timing
from longshore.controllers.scheduled.view import ScheduledView
from longshore.machinery.catalogue import Event


def by_controller(job: Obj) -> tuple[str, ...]:
    """Indexes a Job by its namespace and the name of its controller, of whatever kind and UID."""
    ref = controller_of(job)
    return () if ref is None else (f"{job['metadata']['namespace']}/{ref['name']}",)


def owner_key(cronjob: Obj) -> str:
    meta = cronjob["metadata"]
    return f"{meta['namespace']}/{meta['name']}"


def matters(old: Obj, new: Obj) -> bool:
    """Whether a change of a Job wakes its CronJob: only if the Job has ended, since `decide` reads nothing
    else that changes. Syncs per run of an hourly CronJob: 7.8, or 8.8 if every change of a Job counts
    (bench/testing.py)."""
    if finished.outcome(new) is None and finished.outcome(old) is None:
        return False
    return bool(old["metadata"]["resourceVersion"] != new["metadata"]["resourceVersion"])


def reschedule(view: ScheduledView) -> float | Event:
    """Returns the seconds until the next time of a new schedule, or an event; 0 if it never fires."""
    spec = view.cronjob["spec"]
    try:
        schedule = cron.parse_in_zone(spec["schedule"], spec.get("timeZone"))
    except cron.ScheduleError:
        message = f"unparseable schedule for cronjob: {spec['schedule']}"
        return Event("Warning", "UnParseableCronJobSchedule", message)
    return timing.of(view, view.cronjob, schedule).look_again() or 0.0
