"""The input of `decide` about a CronJob: an immutable snapshot.

Some rules need a read from the server, or depend on the result of a write. `decide` then returns a plan with
requests (`Ask`), and is called again with the answers in the view.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal, NamedTuple, TypeAlias

import msgspec

from longshore.api import cron
from longshore.api.time.instants import Instant
from longshore.api.types import Obj
from longshore.machinery.time.wallclock import Outage


class Ask(NamedTuple):
    """One request about the CronJob itself or a Job in its namespace."""

    verb: Literal["get", "delete", "create"]
    kind: Literal["CronJob", "Job"]
    name: str
    uid: str = ""
    """The UID of the Job to delete; a new Job of the same name is left alone."""


Answer: TypeAlias = Obj | Exception | None
"""The answer to an `Ask`: the object, None (after a delete), or a `StatusError` or `Unreachable`."""


class ScheduledView(msgspec.Struct, frozen=True):
    """A CronJob and the Jobs it controls, as the caches show them. Objects are frozen."""

    cronjob: Obj
    now: Instant
    jobs: Sequence[Obj] = ()
    """All Jobs whose controller has the CronJob's name or UID, depending on the dialect."""
    going: frozenset[str] = frozenset()
    """UIDs of deleted Jobs that the cache still shows."""
    strangers: frozenset[str] = frozenset()
    """UIDs of running Jobs that are not on the active list and were reported by an event."""
    zone: cron.Zone = cron.UTC
    """The zone of schedules that name none: that of this process."""
    steady_since: Instant = 0
    """The time since which the clock has not been set back, as far as this process knows."""
    outage: Outage | None = None
    """The latest outage, if this CronJob was not synced since."""
    answers: Mapping[Ask, Answer] = msgspec.field(default_factory=dict)
