"""The dialect of one kind: how to read the end and the time to live of an object, and the plan for it."""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from longshore.api.facts.kinds import Kind
from longshore.api.time.instants import SECOND, Instant
from longshore.api.types import Obj
from longshore.client.projection import Projection
from longshore.machinery.reasons import Reason


class ExpiryPlan(msgspec.Struct, frozen=True):
    """Sets at most one of `delete` and `look_again`; with neither, only a change causes a sync."""

    why: tuple[Reason, ...]
    delete: bool = False
    late: float = 0.0
    """Seconds since the object was due."""
    look_again: float | None = None
    """Seconds until the object is due."""
    skew: bool = False
    """Whether the object's end lies in the future."""
    problem: str = ""
    """A problem for a person to fix, sent as an event."""


def kept(code: str, problem: str = "") -> ExpiryPlan:
    """Returns a plan that keeps the object, with the reason."""
    return ExpiryPlan((Reason(code),), problem=problem)


def after(ended: Instant, ttl: float, now: Instant) -> ExpiryPlan:
    """Returns the plan for an object that is to be deleted `ttl` seconds after its end."""
    left = (ended + int(ttl * SECOND) - now) / SECOND
    skew = ended > now
    if left > 0:
        return ExpiryPlan((Reason("TtlRuns", {"ttlSeconds": ttl}),), look_again=left, skew=skew)
    return ExpiryPlan((Reason("TtlOver", {"ttlSeconds": ttl}),), delete=True, late=-left, skew=skew)


class Dialect(msgspec.Struct, frozen=True):
    """The names and rules of one kind, for the loop. The functions are pure."""

    controller: str
    """The name of the controller, for logs."""
    kind: Kind
    component: str
    """The source component of the events."""
    queue: str
    """The queue's name in metrics."""
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
