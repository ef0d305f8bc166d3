"""Decides how many pods should run, and which to create or remove: never both in one sync."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Final

import msgspec

from longshore.api import indexes
from longshore.api.time import rfc3339
from longshore.api.types import Obj
from longshore.controllers.job.pods import creation, pace, removal_order, replacement_delay
from longshore.controllers.job.pods.counting import PodCount
from longshore.controllers.job.pods.indexes import Indexes
from longshore.controllers.job.pods.pace import Pace
from longshore.controllers.job.spec import Spec
from longshore.controllers.job.view import BackoffRecord, JobView
from longshore.machinery.reasons import Number, Reason

MAX_PODS_PER_SYNC: Final = 500
"""Upstream's limit of creates or deletes in one sync, so that a big Job does not delay the others."""
MIN_WAIT_SECONDS: Final = 1.0
"""The shortest wait for a back-off. A sync after a shorter wait might find the back-off not quite over."""


class PodCountChange(msgspec.Struct):
    """A change to the number of pods. `look_again` is None if no sync is due by time alone."""

    action: str
    """The name of the action in the sync metrics."""
    why: Reason
    release: Sequence[Obj] = ()
    """Pods to strip of the finalizer and delete; they do not count as failed."""
    create: Sequence[Obj] = ()
    look_again: float | None = None
    next_start: float | None = None
    """When a Job with a start interval may start the next pod after these."""


def manage(
    view: JobView, spec: Spec, count: PodCount, succeeded: int, found: Indexes | None, record: BackoffRecord
) -> PodCountChange:
    """Returns the change that brings the number of active pods to the wanted one."""
    active = count.active
    if spec.suspended:
        why = Reason("Suspended", {"pods": active})
        return PodCountChange("pods_deleted", why, release=[*view.roll.active.values()])
    want = _wanted(spec, succeeded, active)
    need = max(0, active - want)
    if spec.indexed:
        gone = removal_order.surplus_of_indexes(view.roll, need, spec.size)
    else:
        gone = removal_order.surplus(view.roll, need)
    if gone:
        gone = gone[:MAX_PODS_PER_SYNC]
        numbers = {"active": active, "wanted": want, "pods": len(gone)}
        return PodCountChange("pods_deleted", Reason("PodsRemoved", numbers), release=gone)
    waited_for = count.terminating if spec.only_replace_failed else 0
    missing = want - active - waited_for
    if missing <= 0:
        if waited_for and want > active:
            numbers = {"active": active, "wanted": want, "pods": waited_for}
            return PodCountChange("tracking", Reason("PodsTerminating", numbers))
        return PodCountChange("tracking", _enough(active, want))
    return _creation(view, spec, count, found, record, missing)


@lru_cache(maxsize=64)
def _enough(active: int, want: int) -> Reason:
    return Reason("PodsActive", {"active": active, "wanted": want})


def _wanted(spec: Spec, succeeded: int, active: int) -> int:
    if spec.completions is None:
        # A work queue: after the first success running pods may end, and no pod is created.
        return active if succeeded > 0 else spec.parallelism
    return max(0, min(spec.parallelism, spec.completions - succeeded))


def _creation(
    view: JobView, spec: Spec, count: PodCount, found: Indexes | None, record: BackoffRecord, missing: int
) -> PodCountChange:
    if spec.per_index is None:
        wait = replacement_delay.remaining(record, view.now, view.times)
        if wait > 0:
            until = rfc3339.from_seconds(view.now + wait)
            why = Reason("BackingOff", {"failures": record.failures, "until": until})
            return PodCountChange("pods_created", why, look_again=max(MIN_WAIT_SECONDS, wait))
    missing = min(missing, MAX_PODS_PER_SYNC)
    if (paced := pace.allowed(view, missing)) is not None:
        return _paced(view, spec, count, found, missing, paced)
    return _now(view, spec, count, found, missing, missing)


def _paced(
    view: JobView, spec: Spec, count: PodCount, found: Indexes | None, missing: int, paced: Pace
) -> PodCountChange:
    """Creates as many pods as the start interval allows, and requests a sync when the next start is due."""
    wait = paced.next_start - view.now
    if not paced.starts:
        until = rfc3339.from_seconds(paced.next_start)
        why = Reason("StartsPaced", {"interval": paced.interval, "until": until})
        return PodCountChange("pods_created", why, look_again=wait, next_start=paced.next_start)
    change = _now(view, spec, count, found, missing, paced.starts)
    if change.create:
        change.next_start = paced.next_start
        if missing > len(change.create):
            change.look_again = wait
    return change


def _now(
    view: JobView, spec: Spec, count: PodCount, found: Indexes | None, missing: int, starts: int
) -> PodCountChange:
    """Creates at most `starts` of the missing pods."""
    if found is None:
        why = _created(starts, count.active, spec.parallelism, spec.completions)
        return PodCountChange("pods_created", why, create=creation.bodies(view.job, starts))
    numbers = creation.pending_indexes(view.roll, spec, found, missing)
    if spec.per_index is not None:
        waits = {
            n: replacement_delay.remaining_of_index(found.delayed.get(n), view.now, view.times)
            for n in numbers
        }
        due = [n for n in numbers if waits[n] == 0]
        if numbers and not due:
            wait = min(waits.values())
            until = rfc3339.from_seconds(view.now + wait)
            why = Reason("IndexesBackingOff", {"indexes": len(numbers), "until": until})
            return PodCountChange("pods_created", why, look_again=max(MIN_WAIT_SECONDS, wait))
        numbers = due
    pods = list(creation.indexed_bodies(view.job, spec, numbers[:starts], found.delayed))
    why = _created_of(numbers[:starts], count.active, spec)
    return PodCountChange("pods_created", why, create=pods)


@lru_cache(maxsize=64)
def _created(many: int, active: int, parallelism: int, completions: int | None) -> Reason:
    """Cached, since most Jobs create the same few numbers of pods."""
    numbers: dict[str, Number] = {"pods": many, "active": active, "parallelism": parallelism}
    if completions is not None:
        numbers["completions"] = completions
    return Reason("PodsCreated", numbers)


def _created_of(which: list[int], active: int, spec: Spec) -> Reason:
    """Returns the reason for an Indexed Job, which names the indexes."""
    plain = _created(len(which), active, spec.parallelism, spec.completions)
    listed = indexes.write(indexes.from_sorted(sorted(which)))
    return Reason(plain.code, {**plain.numbers, "indexes": listed})
