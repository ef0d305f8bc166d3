"""The plan for an object that has a time to live."""

from __future__ import annotations

import msgspec

from longshore.api.time.instants import SECOND, Instant
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
