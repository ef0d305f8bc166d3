"""Deletes finished Jobs after `ttlSecondsAfterFinished`, or after the time in an annotation."""

from __future__ import annotations

from functools import partial
from typing import Final

from longshore.api.facts import kinds
from longshore.controllers.expiring import loop
from longshore.controllers.expiring.dialect import Dialect
from longshore.controllers.ttl.decide import READS, decide, wanted

DIALECT: Final = Dialect(
    "ttl",
    kinds.JOBS,
    component="ttl-after-finished-controller",
    queue="ttl_jobs_to_delete",
    workers=5,
    reads=READS,
    wanted=wanted,
    decide=decide,
    late_metric=(
        "ttl_after_finished_controller_job_deletion_duration_seconds",
        "The time it took to delete the job since it became eligible for deletion",
    ),
)

run = partial(loop.run, DIALECT)

__all__ = ["DIALECT", "run"]
