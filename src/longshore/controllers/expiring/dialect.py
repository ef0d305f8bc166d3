"""The dialect of one kind: how to read the end and the time to live of an object."""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from longshore.api.facts.kinds import Kind
from longshore.api.time.instants import Instant
from longshore.api.types import Obj
from longshore.client.source import Projection
from longshore.controllers.expiring.plan import ExpiryPlan


class Dialect(msgspec.Struct, frozen=True):
    """The names and rules of one kind, for the loop. The functions are pure."""

    controller: str
    """The name of the controller, for logs."""
    kind: Kind
    component: str
    """The source component of the events."""
    queue: str
    """The queue's name in metrics."""
    workers: int
    reads: Projection
    """The fields that `wanted` and `decide` read, which are all that the cache keeps."""
    wanted: Callable[[Obj], bool]
    """Whether the object can become due without a change. Quick: called for every change of every object."""
    decide: Callable[[Obj, Instant], ExpiryPlan]
    """Returns the plan for now. May raise TryAgain."""
    harmless: tuple[int, ...] = (404,)
    """Status codes of a delete that are ignored: the object needs no deletion any more."""
    late_metric: tuple[str, str] | None = None
    """Name and help of the histogram of how late objects were deleted."""
