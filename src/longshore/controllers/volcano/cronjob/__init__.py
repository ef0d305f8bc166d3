"""Volcano's CronJobs: the loop is `controllers/scheduled`; this is its dialect for batch.volcano.sh."""

from __future__ import annotations

from functools import partial
from typing import Final

from longshore.api import cron
from longshore.api.facts import kinds
from longshore.api.facts.owners import controller_of
from longshore.api.types import Obj
from longshore.client.projection import Projection
from longshore.controllers.scheduled import loop
from longshore.controllers.scheduled.dialect import Dialect
from longshore.controllers.scheduled.view import ScheduledView
from longshore.controllers.volcano.cronjob.decide import decide, timing
from longshore.controllers.volcano.cronjob.draft import ended

READS: Final = {kinds.VOLCANO_JOBS: Projection("metadata.creationTimestamp", "status.state")}
"""All that decisions read of a Job."""


def _by_uid(job: Obj) -> tuple[str, ...]:
    """Indexes a Job by the UID of its controller."""
    owner = controller_of(job)
    return () if owner is None else (owner["uid"],)


def _owner_key(cronjob: Obj) -> str:
    uid: str = cronjob["metadata"]["uid"]
    return uid


def _matters(old: Obj, new: Obj) -> bool:
    """Whether a change of a Job causes a sync of its CronJob: only the end of the Job does."""
    return ended(old) != ended(new)


def _reschedule(view: ScheduledView) -> float:
    """Returns the seconds until the next time of a new schedule; 0 if there is none, to report that."""
    spec = view.cronjob["spec"]
    try:
        schedule = cron.parse_in_zone(spec["schedule"], spec.get("timeZone"))
    except (cron.ScheduleError, cron.UnknownZone):
        return 0.0
    return timing(view, view.cronjob, schedule).look_again or 0.0


DIALECT: Final = Dialect(
    "volcano-cronjob",
    kinds.VOLCANO_CRON_JOBS,
    kinds.VOLCANO_JOBS,
    component="vc-controller-manager",
    queue="volcano_cronjob",
    decide=decide,
    reschedule=_reschedule,
    by_owner=_by_uid,
    owner_key=_owner_key,
    matters=_matters,
    reads=READS[kinds.VOLCANO_JOBS],
    gone_is_deleted=True,
)

run = partial(loop.run, DIALECT)

__all__ = ["DIALECT", "READS", "run"]
