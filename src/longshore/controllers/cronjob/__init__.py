"""CronJobs: starts a Job at each scheduled time, keeps status and history, and reports skipped times.

The loop is `controllers/scheduled`; this is its dialect for batch/v1. docs/reference/cronjobs.md describes
longshore's additions: jitter, events about missed runs, and corrections after clock jumps.
"""

from __future__ import annotations

from functools import partial
from typing import Final

from longshore.api import cron
from longshore.api.facts import kinds
from longshore.api.facts.owners import controller_of
from longshore.api.types import Obj
from longshore.client.projection import WRITABLE
from longshore.controllers.cronjob import timing
from longshore.controllers.cronjob.decide import decide
from longshore.controllers.cronjob.draft import outcome
from longshore.controllers.scheduled import loop
from longshore.controllers.scheduled.dialect import Dialect
from longshore.controllers.scheduled.view import ScheduledView
from longshore.machinery import catalogue
from longshore.machinery.catalogue import Event

READS: Final = {kinds.JOBS: WRITABLE}
"""All that decisions read of a Job."""


def _by_controller(job: Obj) -> tuple[str, ...]:
    """Indexes a Job by its namespace and the name of its controller, of whatever kind and UID."""
    ref = controller_of(job)
    return () if ref is None else (f"{job['metadata']['namespace']}/{ref['name']}",)


def _owner_key(cronjob: Obj) -> str:
    meta = cronjob["metadata"]
    return f"{meta['namespace']}/{meta['name']}"


def _matters(old: Obj, new: Obj) -> bool:
    """Whether a change of a Job wakes its CronJob: only if the Job has ended, since `decide` reads nothing
    else that changes. Syncs per run of an hourly CronJob: 7.8, or 8.8 if every change of a Job counts
    (bench/testing.py)."""
    if outcome(new) is None and outcome(old) is None:
        return False
    return bool(old["metadata"]["resourceVersion"] != new["metadata"]["resourceVersion"])


def _reschedule(view: ScheduledView) -> float | Event:
    """Returns the seconds until the next time of a new schedule, or an event; 0 if it never fires."""
    spec = view.cronjob["spec"]
    try:
        schedule = cron.parse_in_zone(spec["schedule"], spec.get("timeZone"))
    except cron.ScheduleError:
        return catalogue.event("UnParseableCronJobSchedule", {"schedule": spec["schedule"]})
    return timing.of(view, view.cronjob, schedule).look_again() or 0.0


DIALECT: Final = Dialect(
    "cronjob",
    kinds.CRON_JOBS,
    kinds.JOBS,
    component="cronjob-controller",
    queue="cronjob",
    decide=decide,
    reschedule=_reschedule,
    by_owner=_by_controller,
    owner_key=_owner_key,
    matters=_matters,
    reads=READS[kinds.JOBS],
    late_metric=(
        "cronjob_controller_job_creation_skew_duration_seconds",
        "Time between when a cronjob is scheduled to be run, and when the corresponding job is created",
    ),
)

run = partial(loop.run, DIALECT)

__all__ = ["DIALECT", "READS", "run"]
