"""The dialect of one kind of CronJob: its names and its rules."""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from longshore.api.facts.kinds import Kind
from longshore.api.types import Obj
from longshore.controllers.scheduled.plan import Event, Plan
from longshore.controllers.scheduled.view import View


class Dialect(msgspec.Struct, frozen=True):
    """The functions are pure."""

    controller: str
    """The name of the controller that speaks it."""
    cronjobs: Kind
    jobs: Kind
    component: str
    """Who writes the events."""
    queue: str
    """The queue's name in metrics."""
    decide: Callable[[View], Plan]
    """The next step for a CronJob; asked again with the answers until the plan is final."""
    reschedule: Callable[[View], float | Event]
    """The answer to a new schedule: a look after some seconds, or an event that names the problem."""
    by_owner: Callable[[Obj], tuple[str, ...]]
    """An indexer of Jobs."""
    owner_key: Callable[[Obj], str]
    """Under which key of that index the Jobs of a CronJob are."""
    matters: Callable[[Obj, Obj], bool]
    """Whether a change of a Job calls for a look at its CronJob."""
    slim: Callable[[Obj], Obj] | None = None
    """The part of a Job that the cache keeps; None for all of it."""
    gone_is_deleted: bool = False
    """Whether the delete of a Job that is gone already went well."""
    late_metric: tuple[str, str] | None = None
    """Name and help of the histogram of how late Jobs were created."""

    def resource(self, kind: Kind) -> str:
        """The resource as errors name it: `jobs.batch`."""
        return f"{kind[1].lower()}s.{kind[0].partition('/')[0]}"
