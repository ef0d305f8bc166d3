"""CronJobs: starts a Job at each scheduled time, keeps status and history, and reports skipped times.

The loop is `controllers/scheduled`; this is its dialect for batch/v1. docs/reference/cronjobs.md describes
longshore's additions: jitter, events about missed runs, and corrections after clock jumps.
"""

from __future__ import annotations

from functools import partial
from typing import Final

from longshore.api.facts import kinds
from longshore.controllers.cronjob import waking
from longshore.controllers.cronjob.decide import decide
from longshore.controllers.scheduled import loop
from longshore.controllers.scheduled.dialect import Dialect

DIALECT: Final = Dialect(
    "cronjob",
    kinds.CRON_JOBS,
    kinds.JOBS,
    component="cronjob-controller",
    queue="cronjob",
    decide=decide,
    reschedule=waking.reschedule,
    by_owner=waking.by_controller,
    owner_key=waking.owner_key,
    matters=waking.matters,
    late_metric=(
        "cronjob_controller_job_creation_skew_duration_seconds",
        "Time between when a cronjob is scheduled to be run, and when the corresponding job is created",
    ),
)

run = partial(loop.run, DIALECT)

__all__ = ["DIALECT", "run"]
