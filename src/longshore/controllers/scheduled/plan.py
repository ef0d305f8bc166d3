"""The plan: `decide` makes it, and `act` carries it out.

A plan with something to `read`, `delete` or `create` is a step on the way: carry that out and decide again
with the answers. One without is the end: events, status, and when to look again.
"""

from __future__ import annotations

from typing import NamedTuple

import msgspec

from longshore.api.time.instants import Instant
from longshore.api.types import Obj
from longshore.controllers.scheduled.view import Ask
from longshore.machinery.reasons import Reason


class Event(NamedTuple):
    """An event on the CronJob."""

    type: str
    reason: str
    message: str


class Skipped(NamedTuple):
    """Scheduled times after `after` and up to `until` that are not run, and by which rule."""

    after: Instant
    until: Instant
    number: int
    exact: bool
    """False when there are more than `number`."""
    rule: str


class Plan(msgspec.Struct, frozen=True):
    """One step for one CronJob."""

    cronjob: Obj
    """The state decided on: the cached one, or a newer one that had to be read."""
    read: tuple[Ask, ...] = ()
    delete: tuple[Ask, ...] = ()
    """Jobs, in the background."""
    create: Obj | None = None
    """A Job."""
    status: Obj | None = None
    """The new status; None when it is right already."""
    events: tuple[Event, ...] = ()
    look_again: float | None = None
    """Seconds; None when nothing is due until the next change."""
    problem: Exception | None = None
    """Why to try again soon, after the status is written."""
    due: Instant | None = None
    """The scheduled time that was to be started, if one was."""
    lateness: float | None = None
    """Seconds from the scheduled time to the Job's creation, if one was created."""
    skipped: tuple[Skipped, ...] = ()
    strangers: tuple[str, ...] = ()
    """UIDs of Jobs that run and are not on the active list."""
    why: tuple[Reason, ...] = ()

    @property
    def final(self) -> bool:
        return not (self.read or self.delete or self.create)
