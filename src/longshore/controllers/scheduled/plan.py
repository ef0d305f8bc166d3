"""The plan that `decide` makes and `act` carries out.

A plan that sets `read`, `delete` or `create` is an intermediate step: `act` carries it out and decides again
with the answers. Any other plan is final: events, status, and when to sync again.
"""

from __future__ import annotations

from typing import NamedTuple

import msgspec

from longshore.api.time.instants import Instant
from longshore.api.types import Obj
from longshore.controllers.scheduled.view import Ask
from longshore.machinery.catalogue import Event
from longshore.machinery.reasons import Reason


class Skipped(NamedTuple):
    """Scheduled times after `after` and up to `until` that are not run."""

    after: Instant
    until: Instant
    number: int
    exact: bool
    """False if there are more than `number`."""
    why: Reason
    """The rule."""


class ScheduledPlan(msgspec.Struct, frozen=True):
    """One step for one CronJob."""

    cronjob: Obj
    """The CronJob that was decided on: the cached one, or a newer one that had to be read."""
    read: tuple[Ask, ...] = ()
    delete: tuple[Ask, ...] = ()
    """Jobs to delete, with background propagation."""
    create: Obj | None = None
    """The Job to create."""
    status: Obj | None = None
    """The new status; None if it does not change."""
    events: tuple[Event, ...] = ()
    look_again: float | None = None
    """Seconds until the next sync; None if only a change causes one."""
    problem: Exception | None = None
    """The error to raise after the status is written, so that the queue tries again."""
    due: Instant | None = None
    """The scheduled time that was due, if any."""
    lateness: float | None = None
    """Seconds from the scheduled time to the Job's creation, if one was created."""
    skipped: tuple[Skipped, ...] = ()
    strangers: tuple[str, ...] = ()
    """UIDs of running Jobs that are not on the active list."""
    why: tuple[Reason, ...] = ()

    @property
    def final(self) -> bool:
        return not (self.read or self.delete or self.create)
