"""Defaults of a CronJob.

The Job inside is defaulted only as far as its pods go; parallelism and the like are filled in on each
Job when it is created.
"""

from __future__ import annotations

from longshore.api.defaults import job
from longshore.api.types import Obj


def default_cronjob(cronjob: Obj) -> None:
    spec = cronjob.setdefault("spec", {})
    if not spec.get("concurrencyPolicy"):
        spec["concurrencyPolicy"] = "Allow"
    if "suspend" not in spec:
        spec["suspend"] = False
    if "successfulJobsHistoryLimit" not in spec:
        spec["successfulJobsHistoryLimit"] = 3
    if "failedJobsHistoryLimit" not in spec:
        spec["failedJobsHistoryLimit"] = 1
    template = spec.setdefault("jobTemplate", {})
    job.default_job_spec_pods(template.setdefault("spec", {}))
