"""Checks of a CronJob: its schedule and time zone, and the Job inside.

That a schedule can be read does not mean that it ever fires: `59 23 31 2 *` is accepted here.
"""

from __future__ import annotations

import re
from typing import Final

from longshore.api import cron, field
from longshore.api.field import FieldError
from longshore.api.types import Obj
from longshore.api.validation import job, metadata
from longshore.api.validation.metadata import NOT_NEGATIVE

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
    _not_negative(found, spec, "startingDeadlineSeconds")
    zone = spec.get("timeZone")
    if zone is not None and (old is None or old.get("timeZone") != zone):
        found += validate_time_zone(zone, "spec.timeZone")
    policy = spec.get("concurrencyPolicy", "")
    if not policy:
        found.append(field.required("spec.concurrencyPolicy"))
    elif policy not in _POLICIES:
        found.append(field.not_supported("spec.concurrencyPolicy", policy, _POLICIES))
    found += _job(spec["jobTemplate"]["spec"], old["jobTemplate"]["spec"] if old else None)
    _not_negative(found, spec, "successfulJobsHistoryLimit")
    _not_negative(found, spec, "failedJobsHistoryLimit")
    return found


def _not_negative(found: list[FieldError], spec: Obj, key: str) -> None:
    if spec.get(key, 0) < 0:
        found.append(field.invalid(f"spec.{key}", spec[key], NOT_NEGATIVE))


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
    if zone != "Local":  # which exists, but says nothing
        try:
            cron.load(zone)
        except cron.UnknownZone as problem:
            found.append(field.invalid(path, zone, str(problem)))
    return found


def _job(spec: Obj, old: Obj | None) -> list[FieldError]:
    path = "spec.jobTemplate.spec"
    found = job.validate_spec(spec, path, old=old)
    if spec.get("selector") is not None:
        shown = job.shown_selector(spec["selector"])
        found.append(field.invalid(f"{path}.selector", shown, "`selector` will be auto-generated"))
    if spec.get("manualSelector"):
        found.append(field.not_supported(f"{path}.manualSelector", True, ("nil", "false")))
    return found
