"""CronJobs: plain objects around a schedule; all that is special is in what they accept."""

from __future__ import annotations

from typing import ClassVar

from longshore.api.defaults import cronjob as defaults
from longshore.api.field import FieldError
from longshore.api.kinds import job
from longshore.api.strategy import Context, Strategy
from longshore.api.types import Obj
from longshore.api.validation import cronjob


class CronJobStrategy(Strategy):
    """batch/v1 CronJobs. Their status is taken as it comes."""

    keeps_parts: ClassVar[bool] = True

    def default(self, obj: Obj) -> None:
        defaults.default_cronjob(obj)

    def prepare_create(self, obj: Obj, ctx: Context) -> None:
        obj["status"] = {}

    def validate_create(self, obj: Obj, ctx: Context) -> list[FieldError]:
        return cronjob.validate_cronjob(obj)

    def warnings_create(self, obj: Obj, ctx: Context) -> list[str]:
        return job.name_warnings(obj["metadata"]["name"]) + _job_warnings(obj, None)

    def validate_update(self, new: Obj, old: Obj, ctx: Context) -> list[FieldError]:
        return cronjob.validate_cronjob_update(new, old)

    def warnings_update(self, new: Obj, old: Obj, ctx: Context) -> list[str]:
        found = []
        if new["metadata"].get("generation") != old["metadata"].get("generation"):
            found += _job_warnings(new, old)
        if "TZ" in new["spec"].get("schedule", ""):
            found.append(
                "cannot use TZ or CRON_TZ in spec.spec.schedule, use timeZone instead, see "
                "https://kubernetes.io/docs/concepts/workloads/controllers/cron-jobs/ for more details"
            )
        return found


def _job_warnings(obj: Obj, old: Obj | None) -> list[str]:
    was = old["spec"]["jobTemplate"]["spec"] if old else None
    return job.spec_warnings(obj["spec"]["jobTemplate"]["spec"], was, "spec.jobTemplate.spec")
