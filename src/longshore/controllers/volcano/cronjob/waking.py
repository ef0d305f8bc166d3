"""Which Jobs are a CronJob's, what is kept of them, and what a new schedule asks for."""

from __future__ import annotations

from typing import Final

from longshore.api import cron
from longshore.api.facts.owners import controller_of
from longshore.api.types import Obj
from longshore.controllers.scheduled.view import View
from longshore.controllers.volcano.cronjob.decide import timing
from longshore.controllers.volcano.cronjob.job_ends import ended

_META: Final = (
    "name",
    "namespace",
    "uid",
    "resourceVersion",
    "creationTimestamp",
    "deletionTimestamp",
    "ownerReferences",
)


def slim(job: Obj) -> Obj:
    """The part of a Job that is kept: whose it is, and how it ended."""
    meta, state = job["metadata"], (job.get("status") or {}).get("state") or {}
    return {"metadata": {key: meta[key] for key in _META if key in meta}, "status": {"state": state}}


def by_uid(job: Obj) -> tuple[str, ...]:
    """An indexer of Jobs: by the UID of their controller."""
    owner = controller_of(job)
    return () if owner is None else (owner["uid"],)


def owner_key(cronjob: Obj) -> str:
    uid: str = cronjob["metadata"]["uid"]
    return uid


def matters(old: Obj, new: Obj) -> bool:
    """The end of a Job does."""
    return ended(old) != ended(new)


def reschedule(view: View) -> float:
    """Seconds until the next time of a new schedule; one that cannot be read is looked at now, to say so."""
    spec = view.cronjob["spec"]
    try:
        schedule = cron.parse_in_zone(spec["schedule"], spec.get("timeZone"))
    except (cron.ScheduleError, cron.UnknownZone):
        return 0.0
    return timing(view, view.cronjob, schedule).look_again or 0.0
