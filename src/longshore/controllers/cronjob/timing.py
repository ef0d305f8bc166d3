"""Which scheduled time is due for a CronJob, and when to look again; jitter and wrong clocks included.

The arithmetic is Kubernetes' own (`api.cron`). Two things are added around it, and change nothing unless
they are there:

- `longshore.dev/jitter` delays every start of a CronJob by the same time, chosen by its UID: all is computed
  as if the clock were that much behind, so names, status and deadlines stay those of the scheduled time.
- A CronJob whose last start was written by a clock hours ahead of now would wait until that time comes
  again. Such a clock has been set back since; scheduled times count from the moment it was.
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
from longshore.controllers.scheduled.view import View

_CORRECTION: Final = 3 * 3600 * SECOND
"""Cron has always taken a change of the clock by more than three hours for a correction."""


class BadJitter(ValueError):
    """The annotation longshore.dev/jitter must be a duration such as 90s or 5m, not negative."""


class Timing(NamedTuple):
    """The question that the arithmetic answers."""

    schedule: cron.Schedule | cron.Every
    zone: cron.Zone
    """For schedules without a zone of their own."""
    now: Instant
    """Behind the clock by the CronJob's share of the jitter."""
    created: Instant
    last: Instant | None
    deadline: int | None
    corrected: bool = False
    """Whether the CronJob's own times were written by a clock that was wrong."""
    delay: int = 0
    """The CronJob's share of the jitter, in nanoseconds."""
    bad_jitter: str = ""
    """Why the jitter cannot be read; it counts as none then."""

    @property
    def base(self) -> Instant:
        """Scheduled times up to here are done with."""
        return self.created if self.last is None else self.last

    @property
    def shown_in(self) -> cron.Zone:
        """The zone people think of this schedule in."""
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
        """Seconds until the next scheduled time, if `last` has been started by then; None for never."""
        last = self.last if last is None else last
        wait = cron.requeue_after(self.schedule, self.zone, self.now, created=self.created, last=last)
        return None if wait is None else wait / SECOND

    def next(self, after: Instant) -> Instant | None:
        """The first scheduled time later than `after`, which is not before `base`."""
        if isinstance(self.schedule, cron.Every):  # counts from the last start, whenever one asks
            delay = self.schedule.seconds * SECOND
            begin = self.base // SECOND * SECOND
            return begin + ((after - begin) // delay + 1) * delay
        return self.schedule.next(after, self.zone)


def of(view: View, cronjob: Obj, schedule: cron.Schedule | cron.Every) -> Timing:
    """The question for this CronJob now."""
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
    """By how many nanoseconds this CronJob's starts are delayed. Raises BadJitter."""
    text = (cronjob["metadata"].get("annotations") or {}).get(own_names.JITTER)
    return 0 if text is None else _share(cronjob["metadata"]["uid"], text)


@lru_cache(maxsize=16384)  # asked at every look at a CronJob, and hardly ever changed
def _share(uid: str, text: str) -> int:
    """Spread evenly over UIDs from nothing to all of the jitter, and the same for ever."""
    try:
        most = durations.parse(text)
    except ValueError as problem:
        raise BadJitter(f"{BadJitter.__doc__} ({problem})") from None
    if most < 0:
        raise BadJitter(f"{BadJitter.__doc__} (it is {text})")
    share = int.from_bytes(hashlib.sha256(uid.encode()).digest()[:8], "big")
    return share * most >> 64


def _written_ahead(cronjob: Obj, created: Instant, last: Instant | None, now: Instant) -> bool:
    """Whether a clock far ahead of this one wrote the time that counts. What a person wrote there stands."""
    limit = now + _CORRECTION
    if last is None:
        return created > limit
    if last <= limit:
        return False
    return any(
        entry.get("subresource") == "status" and entry.get("time") and rfc3339.parse(entry["time"]) > limit
        for entry in cronjob["metadata"].get("managedFields") or ()
    )
