"""The dialect of one kind of CronJob: its names and rules."""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from longshore.api.facts.kinds import Kind
from longshore.api.types import Obj
from longshore.client.projection import Projection
from longshore.controllers.scheduled.plan import ScheduledPlan
from longshore.controllers.scheduled.view import ScheduledView
from longshore.machinery.catalogue import Event


class Dialect(msgspec.Struct, frozen=True):
    """The names and rules of one kind of CronJob, for the loop. The functions are pure."""

    controller: str
    """The name of the controller."""
    cronjobs: Kind
    jobs: Kind
    component: str
    """The source component of the events."""
    queue: str
    """The queue's name in metrics."""
    decide: Callable[[ScheduledView], ScheduledPlan]
    """Returns the next step for a CronJob; called again with the answers until the plan is final."""
    reschedule: Callable[[ScheduledView], float | Event]
    """Returns the seconds until the sync after a new schedule, or an event that names the problem."""
    by_owner: Callable[[Obj], tuple[str, ...]]
    """Indexes Jobs by CronJob."""
    owner_key: Callable[[Obj], str]
    """Returns the key of a CronJob's Jobs in that index."""
    matters: Callable[[Obj, Obj], bool]
    """Whether a change of a Job causes a sync of its CronJob."""
    reads: Projection
    """The fields of Jobs that are read."""
    gone_is_deleted: bool = False
    """Whether the delete of a Job that no longer exists counts as success."""
    late_metric: tuple[str, str] | None = None
    """Name and help of the histogram of how late Jobs were created."""

    def resource(self, kind: Kind) -> str:
        """Returns the resource as errors name it: `jobs.batch`."""
        return f"{kind[1].lower()}s.{kind[0].partition('/')[0]}"
