"""Describes missed runs: which scheduled times passed without a run, and by which rule."""

from __future__ import annotations

from typing import Final

from longshore.api.time import rfc3339
from longshore.api.time.instants import SECOND, Instant
from longshore.controllers.cronjob.timing import Timing
from longshore.controllers.scheduled.plan import Skipped
from longshore.machinery.reasons import Reason
from longshore.machinery.time.wallclock import Outage

LATEST_ONLY_RULE: Final = "only the most recent missed time is started"
SEARCH: Final = "the search for the most recent one goes back about two intervals, and found none there"
_MAX_COUNTED: Final = 100
"""Missed times beyond this number are not counted. Kubernetes warns above the same number."""


def deadline_rule(seconds: int) -> str:
    return f"older than startingDeadlineSeconds ({seconds})"


def passed_over(timing: Timing, due: Instant | None) -> list[Skipped]:
    """Returns the missed times that will never run. `due` is the time that runs now, None if none does."""
    first = timing.next(timing.base)
    end = timing.now if due is None else due - 1
    if first is None or first > end:
        return []
    cut = timing.base
    found = []
    if timing.deadline is not None:
        cut = max(cut, timing.now - timing.deadline * SECOND)
        found.append(_skipped(timing, timing.base, min(cut, end), deadline_rule(timing.deadline)))
    found.append(_skipped(timing, cut, end, LATEST_ONLY_RULE if due is not None else SEARCH))
    return [skipped for skipped in found if skipped is not None]


def _skipped(timing: Timing, after: Instant, until: Instant, rule: str) -> Skipped | None:
    count, at = 0, timing.next(after)
    while at is not None and at <= until:
        count += 1
        if count > _MAX_COUNTED:
            return Skipped(after, until, _MAX_COUNTED, False, rule)
        at = timing.next(at)
    return Skipped(after, until, count, True, rule) if count else None


def during(outage: Outage, timing: Timing, created: Instant) -> str | None:
    """Describes the runs missed in an outage; None if there are none."""
    after = max(timing.base, created, outage.since or 0)
    missed = _skipped(timing, after, min(outage.until, timing.now), "")
    if missed is None:
        return None
    first = timing.next(after)
    assert first is not None
    zone = timing.shown_in
    if outage.since is None:
        when = f"before longshore started at {rfc3339.in_zone(outage.until, zone)}"
    else:
        when = (
            f"from {rfc3339.in_zone(outage.since, zone)} to {rfc3339.in_zone(outage.until, zone)}, "
            "while this machine slept or its clock was set forward"
        )
    return f"Missed {many(missed, 'scheduled time')}, from {rfc3339.in_zone(first, zone)} on, {when}."


def many(skipped: Skipped, what: str) -> str:
    if not skipped.exact:
        return f"more than {skipped.number} {what}s"
    return f"1 {what}" if skipped.number == 1 else f"{skipped.number} {what}s"


def reason(skipped: Skipped) -> Reason:
    return Reason("Skipped", {"times": skipped.number, "exact": int(skipped.exact), "rule": skipped.rule})
