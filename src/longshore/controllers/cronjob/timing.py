"""Computes which scheduled time of a CronJob is due, and when to sync again; handles jitter and wrong clocks.

The arithmetic is Kubernetes' own (`api.cron`). Two additions apply only where needed:

- `longshore.dev/jitter` delays every start of a CronJob by a constant time, derived from its UID: all is
  computed as if the clock were that much behind, so names, status and deadlines stay those of the schedule.
- If the last start was written by a clock hours ahead of now, the CronJob would wait until that time comes.
  Such a clock has been set back since; scheduled times then count from the moment of that correction.
"""

from __future__ import annotations

import hashlib
from functools import lru_cache
from typing import Final, NamedTuple

from longshore.api import cron
from longshore.api.facts import own_names
from longshore.api.time import durations, rfc3339
from longshore.api.time.instants import SECOND, Instant
from longshore.api.types import Obj
from longshore.controllers.scheduled.view import ScheduledView

_CORRECTION: Final = 3 * 3600 * SECOND
"""A time more than three hours ahead counts as written by a wrong clock, the limit that cron uses."""


class BadJitter(ValueError):
    """The annotation longshore.dev/jitter must be a duration such as 90s or 5m, not negative."""


class Timing(NamedTuple):
    """Inputs of the schedule arithmetic for one CronJob."""

    schedule: cron.Schedule | cron.Every
    zone: cron.Zone
    """The zone of schedules that name none."""
    now: Instant
    """The current time minus `delay`."""
    created: Instant
    last: Instant | None
    deadline: int | None
    corrected: bool = False
    """Whether a wrong clock wrote the CronJob's own times."""
    delay: int = 0
    """The CronJob's share of the jitter, in nanoseconds."""
    bad_jitter: str = ""
    """Why the jitter annotation cannot be parsed; it then counts as 0."""

    @property
    def base(self) -> Instant:
        """The last start, or the creation. Only scheduled times after it can be due."""
        return self.created if self.last is None else self.last

    @property
    def shown_in(self) -> cron.Zone:
        """The zone in which times are shown: the schedule's own, or the default."""
        return self.schedule.zone or self.zone

    def due(self) -> tuple[Instant | None, bool]:
        """The scheduled time to start now, if any, and whether too many were missed. Raises NeverFires."""
        return cron.most_recent(
            self.schedule,
            self.zone,
            self.now,
            created=self.created,
            last=self.last,
            deadline=self.deadline,
        ).due

    def look_again(self, last: Instant | None = None) -> float | None:
        """Returns the seconds until the next scheduled time, if `last` was the last start; None if never."""
        last = self.last if last is None else last
        wait = cron.requeue_after(self.schedule, self.zone, self.now, created=self.created, last=last)
        return None if wait is None else wait / SECOND

    def next(self, after: Instant) -> Instant | None:
        """Returns the first scheduled time after `after`, which must not be before `base`."""
        if isinstance(self.schedule, cron.Every):  # an @every schedule counts from the last start
            delay = self.schedule.seconds * SECOND
            begin = self.base // SECOND * SECOND
            return begin + ((after - begin) // delay + 1) * delay
        return self.schedule.next(after, self.zone)


def of(view: ScheduledView, cronjob: Obj, schedule: cron.Schedule | cron.Every) -> Timing:
    """Returns the inputs of the arithmetic for this CronJob now."""
    spec, meta = cronjob["spec"], cronjob["metadata"]
    delay, bad_jitter = 0, ""
    try:
        delay = jitter(cronjob)
    except BadJitter as problem:
        bad_jitter = str(problem)
    created = rfc3339.parse(meta["creationTimestamp"])
    last = last_schedule(cronjob)
    ahead = _written_ahead(cronjob, created, last, view.now)
    if ahead:
        created, last = min(view.steady_since, view.now), None
    deadline = spec.get("startingDeadlineSeconds")
    return Timing(schedule, view.zone, view.now - delay, created, last, deadline, ahead, delay, bad_jitter)


def last_schedule(cronjob: Obj) -> Instant | None:
    text = (cronjob.get("status") or {}).get("lastScheduleTime")
    return rfc3339.parse(text) if text else None


def jitter(cronjob: Obj) -> int:
    """Returns the delay of this CronJob's starts in nanoseconds. Raises BadJitter."""
    text = (cronjob["metadata"].get("annotations") or {}).get(own_names.JITTER)
    return 0 if text is None else _share(cronjob["metadata"]["uid"], text)


@lru_cache(maxsize=16384)  # every sync parses it, and it hardly ever changes
def _share(uid: str, text: str) -> int:
    """Returns this UID's constant share of the jitter, spread evenly between 0 and the whole."""
    try:
        most = durations.parse(text)
    except ValueError as problem:
        raise BadJitter(f"{BadJitter.__doc__} ({problem})") from None
    if most < 0:
        raise BadJitter(f"{BadJitter.__doc__} (it is {text})")
    share = int.from_bytes(hashlib.sha256(uid.encode()).digest()[:8], "big")
    return share * most >> 64


def _written_ahead(cronjob: Obj, created: Instant, last: Instant | None, now: Instant) -> bool:
    """Whether a clock far ahead of now wrote the base time. A time that a person wrote is kept."""
    limit = now + _CORRECTION
    if last is None:
        return created > limit
    if last <= limit:
        return False
    return any(
        entry.get("subresource") == "status" and entry.get("time") and rfc3339.parse(entry["time"]) > limit
        for entry in cronjob["metadata"].get("managedFields") or ()
    )
