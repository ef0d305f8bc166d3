"""Volcano's CronJobs: the loop is `controllers/scheduled`; this is its dialect for batch.volcano.sh."""

from __future__ import annotations

from functools import partial
from typing import Final

from longshore.api.facts import kinds
from longshore.controllers.scheduled import loop
from longshore.controllers.scheduled.dialect import Dialect
from longshore.controllers.volcano.cronjob import waking
from longshore.controllers.volcano.cronjob.decide import decide

DIALECT: Final = Dialect(
    "volcano-cronjob",
    kinds.VOLCANO_CRON_JOBS,
    kinds.VOLCANO_JOBS,
    component="vc-controller-manager",
    queue="volcano_cronjob",
    decide=decide,
    reschedule=waking.reschedule,
    by_owner=waking.by_uid,
    owner_key=waking.owner_key,
    matters=waking.matters,
    reads=waking.JOB,
    gone_is_deleted=True,
)

run = partial(loop.run, DIALECT)

__all__ = ["DIALECT", "run"]
