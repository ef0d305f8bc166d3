"""How long a replacement waits after failures: 10 s, 20 s, 40 s … up to 10 minutes, per Job or per index."""

from __future__ import annotations

from collections.abc import Sequence

from longshore.api.time.doubling import Doubling
from longshore.api.types import Obj
from longshore.controllers.job.pods import pod_facts
from longshore.controllers.job.view import NO_FAILURES, BackoffRecord


def draft(record: BackoffRecord, succeeded: Sequence[Obj], failed: Sequence[Obj]) -> BackoffRecord:
    """The record after these newly ended pods. It counts once the status that shows them is written."""
    if not failed:
        return NO_FAILURES if succeeded else record
    times = [pod_facts.finish_time(pod) for pod in failed]
    if not succeeded:
        return BackoffRecord(record.failures + len(times), max(times))
    last_success = max(pod_facts.finish_time(pod) for pod in succeeded)
    times = [at for at in times if at > last_success]
    return BackoffRecord(len(times), max(times)) if times else NO_FAILURES


def remaining(failures: int, last_failure: float | None, now: float, times: Doubling) -> float:
    """Seconds until a replacement may start; 0 when it may."""
    if failures == 0 or last_failure is None:
        return 0.0
    return max(0.0, times.after(failures) - (now - last_failure))


def remaining_of_index(last: Obj | None, now: float, times: Doubling) -> float:
    """Seconds until the index whose latest failed pod is `last` may be tried again."""
    if last is None:
        return 0.0
    failures = pod_facts.index_failures(last) + pod_facts.index_ignored_failures(last) + 1
    return remaining(failures, pod_facts.finish_time(last), now, times)
