"""Delays replacements after failures: 10 s, 20 s, 40 s … up to 10 minutes, per Job or per index."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from longshore.api.time import rfc3339
from longshore.api.time.backoff import Doubling
from longshore.api.types import Obj
from longshore.controllers.job.pods import pod_facts
from longshore.controllers.job.view import BackoffRecord

_MAX_RECENT: Final = 64
"""Finish times that a record keeps. Pauses reach their cap after fewer failures."""


def draft(record: BackoffRecord, succeeded: Sequence[Obj], failed: Sequence[Obj]) -> BackoffRecord:
    """Returns the record after these newly ended pods. It takes effect once the status with them is written.

    Finish times decide which failures came after the last success, not the order in which pods are seen. If a
    failure and a success have the same second, the one seen later counts as later; if both are seen together,
    the success does."""
    if not succeeded and not failed:
        return record
    known = record.last_success or 0.0
    new = max((_success_time(pod, record) for pod in succeeded), default=0.0)
    times = [*record.recent, *map(pod_facts.finish_time, failed)]
    later = sorted(at for at in times if at > new and at >= known)
    failures = len(later)
    if not record.recent or record.recent[0] > new:
        failures += record.failures - len(record.recent)  # those that `recent` has no room for
    return BackoffRecord(failures, tuple(later[-_MAX_RECENT:]), max(known, new) or None)


def _success_time(pod: Obj, record: BackoffRecord) -> float:
    """Returns when the pod succeeded; if only its creation time is known, not before any known failure."""
    at = pod_facts.finish_time(pod)
    if at <= rfc3339.seconds(pod["metadata"].get("creationTimestamp")):
        return max([at, *record.recent[-1:]])
    return at


def remaining(record: BackoffRecord, now: float, times: Doubling) -> float:
    """Returns the seconds until a replacement may start; 0 if it may start now."""
    if not record.recent:
        return 0.0
    return _remaining(record.failures, record.recent[-1], now, times)


def remaining_of_index(last: Obj | None, now: float, times: Doubling) -> float:
    """Returns the seconds until the index whose latest failed pod is `last` may be retried."""
    if last is None:
        return 0.0
    failures = pod_facts.index_failures(last) + pod_facts.index_ignored_failures(last) + 1
    return _remaining(failures, pod_facts.finish_time(last), now, times)


def _remaining(failures: int, last_failure: float, now: float, times: Doubling) -> float:
    return max(0.0, times.after(failures) - (now - last_failure))
