"""The dialect of one kind of object: how it tells its end and its time to live."""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from longshore.api.facts.kinds import Kind
from longshore.api.time.instants import Instant
from longshore.api.types import Obj
from longshore.controllers.expiring.plan import Plan


class Dialect(msgspec.Struct, frozen=True):
    """The functions are pure."""

    controller: str
    """The name of the controller that speaks it."""
    kind: Kind
    component: str
    """Who writes the events."""
    queue: str
    """The queue's name in metrics."""
    workers: int
    slim: Callable[[Obj], Obj]
    """The part of an object that the cache keeps: all that the other two need."""
    wanted: Callable[[Obj], bool]
    """Whether the object may ever be due as it is: quick, for every change of every object."""
    decide: Callable[[Obj, Instant], Plan]
    """The plan for now. May raise TryAgain."""
    harmless: tuple[int, ...] = (404,)
    """Answers to a delete that say that the object is none of the loop's business any more."""
    late_metric: tuple[str, str] | None = None
    """Name and help of the histogram of how late objects were deleted."""
