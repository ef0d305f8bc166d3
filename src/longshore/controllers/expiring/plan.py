"""The plan for an object that has a time to live."""

from __future__ import annotations

import msgspec

from longshore.api.time.instants import SECOND, Instant
from longshore.machinery.reasons import Reason


class Plan(msgspec.Struct, frozen=True):
    """At most one of `delete` and `look_again`. With neither, only a change calls for a look."""

    why: tuple[Reason, ...]
    delete: bool = False
    late: float = 0.0
    """Seconds since the object was due."""
    look_again: float | None = None
    """In how many seconds the object is due."""
    skew: bool = False
    """Whether the object claims to have ended in the future."""
    problem: str = ""
    """The problem that a person should put right."""


def kept(code: str, words: str, problem: str = "") -> Plan:
    """The object stays, and why."""
    return Plan((Reason(code, words),), problem=problem)


def after(ended: Instant, ttl: float, now: Instant) -> Plan:
    """The plan for an object that is to go `ttl` seconds after its end."""
    left = (ended + int(ttl * SECOND) - now) / SECOND
    skew = ended > now
    if left > 0:
        words = f"it is to be deleted {ttl:g} s after it ended"
        return Plan((Reason("TtlRuns", words, {"ttlSeconds": ttl}),), look_again=left, skew=skew)
    words = f"it ended {ttl:g} s ago or more: deletes it"
    return Plan((Reason("TtlOver", words, {"ttlSeconds": ttl}),), delete=True, late=-left, skew=skew)
