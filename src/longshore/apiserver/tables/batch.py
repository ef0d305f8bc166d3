"""Columns of Jobs and CronJobs."""

from __future__ import annotations

from datetime import datetime
from typing import Any, Final

from longshore.api.facts import conditions, job_state
from longshore.api.time import ages
from longshore.api.types import Obj
from longshore.apiserver.tables.cells import (
    AGE,
    CONTAINERS,
    IMAGES,
    NAME,
    NONE,
    UNSET,
    Printer,
    age_of,
    column,
    containers_of,
    name_of,
    selector_text,
    wide,
)

_UNDERWAY: Final = ("Suspended", "FailureTarget", "SuccessCriteriaMet")


def _job_status(job: Obj) -> str:
    known = (job.get("status") or {}).get("conditions") or ()
    if (end := job_state.end_of(job)) is not None:
        return str(end["type"])
    if job["metadata"].get("deletionTimestamp"):
        return "Terminating"
    for type in _UNDERWAY:
        if conditions.is_true(known, type):
            return type
    return "Running"


def _completions(spec: Obj, status: Obj) -> str:
    succeeded = status.get("succeeded", 0)
    if (wanted := spec.get("completions")) is not None:
        return f"{succeeded}/{wanted}"
    workers = spec.get("parallelism") or 0
    return f"{succeeded}/1 of {workers}" if workers > 1 else f"{succeeded}/1"


def _duration(status: Obj, now: datetime) -> str:
    start, end = status.get("startTime"), status.get("completionTime")
    if not start:
        return ""
    return ages.between(start, end) if end else ages.age(start, now)


def _job(job: Obj, now: datetime) -> list[Any]:
    spec, status = job.get("spec", {}), job.get("status", {})
    names, images = containers_of(spec.get("template", {}).get("spec", {}))
    return [
        name_of(job),
        _job_status(job),
        _completions(spec, status),
        _duration(status, now),
        age_of(job, now),
        names,
        images,
        selector_text(spec.get("selector")),
    ]


def _cron_job(cron: Obj, now: datetime) -> list[Any]:
    spec, status = cron.get("spec", {}), cron.get("status", {})
    job_spec = spec.get("jobTemplate", {}).get("spec", {})
    names, images = containers_of(job_spec.get("template", {}).get("spec", {}))
    last = status.get("lastScheduleTime")
    zone = spec.get("timeZone")
    return [
        name_of(cron),
        spec.get("schedule", ""),
        NONE if zone is None else zone,
        # A word, although the column says boolean: this is what Kubernetes sends.
        _truth(spec.get("suspend")),
        len(status.get("active") or ()),
        ages.age(last, now) if last else NONE,
        age_of(cron, now),
        names,
        images,
        selector_text(job_spec.get("selector")),
    ]


def _truth(value: bool | None) -> str:
    return UNSET if value is None else str(bool(value))


PRINTERS: Final = {
    ("batch", "Job"): Printer(
        (
            NAME,
            column("Status", "Where the Job stands."),
            column("Completions", "Pods that succeeded, of those wanted."),
            column("Duration", "Time the Job took, or has been running."),
            AGE,
            CONTAINERS,
            IMAGES,
            wide("Selector", "Labels by which the Job finds its pods."),
        ),
        _job,
    ),
    ("batch", "CronJob"): Printer(
        (
            NAME,
            column("Schedule", "When Jobs are started, in cron's notation."),
            column("Timezone", "Time zone the schedule is read in."),
            column("Suspend", "Whether no further Jobs are started.", "boolean"),
            column("Active", "Number of Jobs running now.", "integer"),
            column("Last Schedule", "Time since a Job was last started."),
            AGE,
            CONTAINERS,
            IMAGES,
            wide("Selector", "Labels by which the Jobs find their pods."),
        ),
        _cron_job,
    ),
}
