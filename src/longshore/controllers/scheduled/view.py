"""All that `decide` may know of a CronJob: one immutable picture of one moment.

Some rules want a second look at the server, and some depend on how a write went. `decide` names what it
wants to know (`Ask`), and is called again with the answers in the view.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal, NamedTuple, TypeAlias

import msgspec

from longshore.api import cron
from longshore.api.time.instants import Instant
from longshore.api.types import Obj


class Ask(NamedTuple):
    """One request about the CronJob itself or a Job in its namespace."""

    verb: Literal["get", "delete", "create"]
    kind: Literal["CronJob", "Job"]
    name: str
    uid: str = ""
    """For a delete: of which Job; another one of that name is left alone."""


Answer: TypeAlias = Obj | Exception | None
"""The answer: the object, nothing (after a delete), or `StatusError` or `Unreachable`."""


class Outage(NamedTuple):
    """A time in which nobody could start anything: longshore did not run, or the machine slept."""

    since: Instant | None
    """None before longshore started: it does not know when it stopped the last time."""
    until: Instant


class View(msgspec.Struct, frozen=True):
    """A CronJob and the Jobs it controls, as the caches show them. Objects are frozen."""

    cronjob: Obj
    now: Instant
    jobs: Sequence[Obj] = ()
    """All Jobs whose controller has the CronJob's name, or its UID: that is the dialect's choice."""
    going: frozenset[str] = frozenset()
    """UIDs of Jobs that were deleted although the cache still shows them."""
    strangers: frozenset[str] = frozenset()
    """UIDs of Jobs that an event has told of: they run and are not on the active list."""
    zone: cron.Zone = cron.UTC
    """The zone of schedules without one: that of this process."""
    steady_since: Instant = 0
    """Since when the machine's clock has not been set back, as far as this process knows."""
    outage: Outage | None = None
    """The latest one, if this CronJob was not looked at since."""
    answers: Mapping[Ask, Answer] = msgspec.field(default_factory=dict)
