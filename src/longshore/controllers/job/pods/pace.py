"""Limits how fast a Job starts pods, by annotations that only longshore reads.

`longshore.dev/start-interval` is the time from one start to the next, `longshore.dev/retry-backoff` the pause
after a first failure. A value that is no duration is ignored. The time of the last start is kept in memory
only: a restarted controller first waits a whole interval, so two starts are never closer than the interval.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from longshore.api.facts.own_names import RETRY_BACKOFF, START_INTERVAL
from longshore.api.time import durations
from longshore.api.time.backoff import Doubling
from longshore.api.types import Obj
from longshore.controllers.job.view import JobView

_CATCH_UP_SECONDS: Final = 0.1
"""Starts missed within this time are made up for: timers are late, but 100/s means 100 a second."""


_TIMER_SECONDS: Final = 0.001
"""A start due within a timer's precision is due now."""


class Pace(NamedTuple):
    """How many pods may start now."""

    interval: float
    starts: int
    next_start: float
    """When the next start after these is allowed, in seconds since 1970."""


def allowed(view: JobView, wanted: int) -> Pace | None:
    """Returns how many of the `wanted` starts the Job's interval allows; None without an interval."""
    interval = _seconds(view.job, START_INTERVAL)
    if not interval:
        return None
    due = view.next_start
    if due is None:
        begun = bool(view.roll.entries) or "startTime" in (view.job.get("status") or {})
        due = view.now + interval if begun else view.now
    due = max(due, view.now - (_CATCH_UP_SECONDS if interval < _CATCH_UP_SECONDS else 0.0))
    if due - view.now > _TIMER_SECONDS:
        return Pace(interval, 0, due)
    starts = min(wanted, max(0, int((view.now - due) / interval)) + 1)
    return Pace(interval, starts, due + starts * interval)


def pauses(job: Obj, usual: Doubling) -> Doubling:
    """Returns the pauses after failures: from the Job's annotation, or `usual`."""
    first = _seconds(job, RETRY_BACKOFF)
    return usual if first is None else Doubling(first, max(first, usual.cap))


def _seconds(job: Obj, annotation: str) -> float | None:
    annotations = job["metadata"].get("annotations")
    if not annotations or annotation not in annotations:
        return None
    try:
        return max(0, durations.parse(annotations[annotation])) / 1e9
    except ValueError:
        return None
