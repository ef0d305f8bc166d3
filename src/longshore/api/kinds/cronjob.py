"""CronJobs: a schedule and a Job template. Only their validation is special."""

from __future__ import annotations

import re
from typing import Final

from longshore.api import cron, field
from longshore.api.defaults import job as defaults
from longshore.api.field import FieldError
from longshore.api.kinds import job
from longshore.api.strategy import Strategy, starts_with
from longshore.api.types import Obj
from longshore.api.validation import job as job_checks
from longshore.api.validation import metadata

_MAX_NAME_BYTES: Final = 52
"""The controller appends eleven characters, and a Job's name must fit into a label."""
_POLICIES: Final = ("Allow", "Forbid", "Replace")
_is_zone_part: Final = re.compile(r"(?!-|\.{1,2}\Z)[A-Za-z0-9._+-]{1,14}", re.ASCII).fullmatch


def validate_cronjob(cronjob: Obj) -> list[FieldError]:
    """All problems of a new CronJob, after those of its metadata."""
    found = _spec(cronjob["spec"], None)
    name = cronjob["metadata"].get("name", "")
    if len(name.encode()) > _MAX_NAME_BYTES:
        found.append(
            field.invalid("metadata.name", name, f"must be no more than {_MAX_NAME_BYTES} characters")
        )
    return found


def validate_cronjob_update(new: Obj, old: Obj) -> list[FieldError]:
    """All problems of an update of the main resource, after those that the registry finds itself. The
    limit on names is not applied to CronJobs that exist."""
    found = metadata.validate_update_again(new["metadata"], old["metadata"])
    if new["spec"] != old["spec"]:  # what is stored has passed before
        found += _spec(new["spec"], old["spec"])
    return found


def _spec(spec: Obj, old: Obj | None) -> list[FieldError]:
    found = _schedule(spec, old)
    found += field.negative(spec, "spec", "startingDeadlineSeconds")
    zone = spec.get("timeZone")
    if zone is not None and (old is None or old.get("timeZone") != zone):
        found += validate_time_zone(zone, "spec.timeZone")
    policy = spec.get("concurrencyPolicy", "")
    found += field.chosen("spec.concurrencyPolicy", policy, _POLICIES)
    found += _job(spec["jobTemplate"]["spec"], old["jobTemplate"]["spec"] if old else None)
    return found + field.negative(spec, "spec", "successfulJobsHistoryLimit", "failedJobsHistoryLimit")


def _schedule(spec: Obj, old: Obj | None) -> list[FieldError]:
    schedule = spec.get("schedule", "")
    if not schedule:
        return [field.required("spec.schedule")]
    found: list[FieldError] = []
    try:
        cron.parse(schedule)
    except cron.ScheduleError as problem:
        found.append(field.invalid("spec.schedule", schedule, str(problem)))
    if "TZ" in schedule:
        # Zones inside the schedule are a relic that only CronJobs which have one may keep.
        if old is None or "TZ" not in old.get("schedule", ""):
            text = "cannot use TZ or CRON_TZ in schedule, use timeZone field instead"
            found.append(field.invalid("spec.schedule", schedule, text))
        elif "timeZone" in spec:
            text = "cannot use both timeZone field and TZ or CRON_TZ in schedule"
            found.append(field.invalid("spec.schedule", schedule, text))
    return found


def validate_time_zone(zone: str, path: str) -> list[FieldError]:
    """A name of the IANA database, in its own spelling."""
    if not zone:
        return [field.invalid(path, zone, "timeZone must be nil or non-empty string")]
    if not all(_is_zone_part(part) for part in zone.split("/")):
        return [field.invalid(path, zone, f"unknown time zone {zone}")]
    found: list[FieldError] = []
    if zone.lower() == "local":
        text = "timeZone must be an explicit time zone as defined in https://www.iana.org/time-zones"
        found.append(field.invalid(path, zone, text))
    if zone != "Local":  # which exists, but names no zone of its own
        try:
            cron.load(zone)
        except cron.UnknownZone as problem:
            found.append(field.invalid(path, zone, str(problem)))
    return found


def _job(spec: Obj, old: Obj | None) -> list[FieldError]:
    path = "spec.jobTemplate.spec"
    found = job_checks.validate_spec(spec, path, old=old)
    if spec.get("selector") is not None:
        shown = job_checks.shown_selector(spec["selector"])
        found.append(field.invalid(f"{path}.selector", shown, "`selector` will be auto-generated"))
    if spec.get("manualSelector"):
        found.append(field.not_supported(f"{path}.manualSelector", True, ("nil", "false")))
    return found


def _warnings_create(obj: Obj) -> list[str]:
    return job.name_warnings(obj["metadata"]["name"]) + _job_warnings(obj, None)


def _warnings_update(new: Obj, old: Obj) -> list[str]:
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


STRATEGY: Final = Strategy(
    keeps_parts=True,
    default=defaults.default_cronjob,
    prepare_create=starts_with({}),
    validate_create=validate_cronjob,
    warnings_create=_warnings_create,
    validate_update=validate_cronjob_update,
    warnings_update=_warnings_update,
)
"""batch/v1 CronJobs. Their status is not validated."""
