"""Schedules of CronJobs: the schedule language, time zones, and missed activations.

Instants are integers: nanoseconds since 1970, UTC. The answers are those of the cron library that
Kubernetes uses, oddities around clock changes included.
"""

from longshore.api.cron.missed_runs import NeverFires, Outlook, most_recent, requeue_after
from longshore.api.cron.parse import ScheduleError, parse, parse_in_zone
from longshore.api.cron.schedule import Every, Schedule
from longshore.api.time.zones import UTC, UnknownZone, Zone, load

__all__ = [
    "UTC",
    "Every",
    "NeverFires",
    "Outlook",
    "Schedule",
    "ScheduleError",
    "UnknownZone",
    "Zone",
    "load",
    "most_recent",
    "parse",
    "parse_in_zone",
    "requeue_after",
]
