"""Volcano CronJobs: schedule, time zone, name. The Job inside is checked when it is created."""

from __future__ import annotations

import re
from typing import Final

from longshore.api import cron, field, label_syntax
from longshore.api.types import Obj

_MAX_NAME_BYTES: Final = 52
_is_zone_part: Final = re.compile(r"(?!-|\.{1,2}\Z)[A-Za-z0-9._+-]{1,14}", re.ASCII).fullmatch


def validate(spec: Obj, name: str) -> str:
    """All problems of a CronJob, in one text."""
    return "; ".join([*_schedule(spec.get("schedule", "")), *_zone(spec.get("timeZone")), *_name(name)])


def _schedule(schedule: str) -> list[str]:
    if not schedule:
        return ["schedule is required, but got empty"]
    if "TZ" in schedule:
        return [
            "schedule should not contain TZ or CRON_TZ, TZ should only be set in the timeZone field",
        ]
    try:
        cron.parse(schedule)
    except cron.ScheduleError:
        return ["schedule is not a valid cron expression"]
    return []


def _zone(zone: str | None) -> list[str]:
    if zone is None:
        return []
    if not zone:
        return ["timeZone must be nil or non-empty string, got empty string"]
    found = ["unknown timeZone" for part in zone.split("/") if not _is_zone_part(part)]
    if zone.lower() == "local":
        found.append("timeZone can't be Local, and must be defined in https://www.iana.org/time-zones")
        return found
    try:
        cron.load(zone)
    except cron.UnknownZone:
        found.append("invalid timeZone")
    return found


def _name(name: str) -> list[str]:
    if len(name.encode()) > _MAX_NAME_BYTES:
        return [
            f"cronJob name must be no more than {_MAX_NAME_BYTES} characters to accommodate job name suffix "
            "(max 63 total)"
        ]
    if problems := label_syntax.qualified_name(name):
        return [f"invalid cronJob name {field.quoted(name)}: {'; '.join(problems)}"]
    return []
