"""Indexes the Jobs of a CronJob, and reschedules after a new schedule."""

from __future__ import annotations

from typing import Final

from longshore.api import cron
from longshore.api.facts.owners import controller_of
from longshore.api.types import Obj
from longshore.client.source import Projection
from longshore.controllers.scheduled.view import ScheduledView
from longshore.controllers.volcano.cronjob.decide import timing
from longshore.controllers.volcano.cronjob.job_ends import ended

JOB: Final = Projection(
    "metadata.creationTimestamp", "metadata.deletionTimestamp", "metadata.ownerReferences", "status.state"
)


def by_uid(job: Obj) -> tuple[str, ...]:
    """Indexes a Job by the UID of its controller."""
    owner = controller_of(job)
    return () if owner is None else (owner["uid"],)


def owner_key(cronjob: Obj) -> str:
    uid: str = cronjob["metadata"]["uid"]
    return uid


def matters(old: Obj, new: Obj) -> bool:
    """Whether a change of a Job causes a sync of its CronJob: only the end of the Job does."""
    return ended(old) != ended(new)


def reschedule(view: ScheduledView) -> float:
    """Returns the seconds until the next time of a new schedule; 0 if there is none, to report that."""
    spec = view.cronjob["spec"]
    try:
        schedule = cron.parse_in_zone(spec["schedule"], spec.get("timeZone"))
    except (cron.ScheduleError, cron.UnknownZone):
        return 0.0
    return timing(view, view.cronjob, schedule).look_again or 0.0
