"""What was asked for about failures of Jobs holds: how many there may be, and the pause after them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from longshore.api.facts import owners, pod_state
from longshore.api.time import rfc3339
from longshore.api.types import Obj
from simulation import job_books
from simulation.record import JOBS, PODS, Record

_VERDICTS = ("Complete", "Failed", "FailureTarget", "SuccessCriteriaMet")
_WHOLE_SECOND = 1.0
"""Times are whole seconds, and a timer may be due just before one is full."""
_FIRST_PAUSE_SECONDS, _LONGEST_PAUSE_SECONDS = 10, 600
_INDEX_FAILURES = (
    "batch.kubernetes.io/job-index-failure-count",
    "batch.kubernetes.io/job-index-ignored-failure-count",
)


def a_job_fails_when_its_limit_is_passed(record: Record) -> Iterator[str]:
    """A Job is judged by its backoffLimit or maxFailedIndexes in the write that tells of more failures than
    that, and never before. Restarts in place are no failed pods, and not judged."""
    for change in record.of(JOBS):
        spec = change.obj["spec"]
        if (
            spec["template"]["spec"]["restartPolicy"] != "Never"
            or "deletionTimestamp" in change.obj["metadata"]
        ):
            continue
        new, old = _verdicts(change.obj), _verdicts(change.old or {})
        for reason, failures, limit in _limits(change.obj):
            is_passed = limit is not None and failures > limit
            if is_passed and not new:
                yield f"{change.key.name}: {failures} failures, limit {limit}, and no verdict"
            if reason in new - old and not is_passed:
                yield f"{change.key.name}: {reason} after {failures} failures, limit {limit}"


def a_replacement_waits_its_back_off(record: Record) -> Iterator[str]:
    """After failures in a row a Job waits ten seconds, twice as long each time, before it makes another pod.
    The pause of an index is told by the pods. That of a Job is in memory only: it is not judged where
    controllers die. Upstream forgets it then as well."""
    forgets = any(crash.who in ("all", "controllers") for crash in record.scenario.crashes)
    works: dict[str, _Work] = {}
    for change in record.changes:
        if change.key.storage == JOBS:
            work = works.setdefault(change.obj["metadata"]["uid"], _Work(change.obj))
            uncounted = (change.obj.get("status") or {}).get("uncountedTerminatedPods") or {}
            work.known |= {*uncounted.get("failed", ())}
        owner = owners.controller_of(change.obj) if change.key.storage == PODS else None
        if owner is None or owner["uid"] not in works:
            continue
        work = works[owner["uid"]]
        work.saw(change.obj)
        if change.type != "ADDED":
            continue
        made = rfc3339.seconds(change.obj["metadata"]["creationTimestamp"])
        if "backoffLimitPerIndex" in work.job["spec"]:
            due = work.due_of_index(change.obj)
        else:
            due = 0.0 if forgets or "podFailurePolicy" in work.job["spec"] else work.due()
        if made < due - _WHOLE_SECOND:
            yield f"{change.key.name}: made {due - made:.0f} s before the back-off of its Job is over"


@dataclass
class _Work:
    job: Obj
    known: set[str] = field(default_factory=set)
    """The pods that the status listed as failed."""
    _failed: dict[str, float] = field(default_factory=dict)
    """When each ended by itself, by uid, in seconds since 1970."""
    _failed_of_index: dict[tuple[int | None, int], float] = field(default_factory=dict)
    """When the first pod of an index that came after so many failures ended."""
    _last_success: float = 0.0

    def saw(self, pod: Obj) -> None:
        meta, end = pod["metadata"], pod_state.main_end(pod).get("finishedAt")
        if end is None or "deletionTimestamp" in meta:
            return
        beside = (each.get("state") or {} for each in pod["status"].get("initContainerStatuses") or ())
        ends = [end, *(state["terminated"]["finishedAt"] for state in beside if "terminated" in state)]
        at = max(map(rfc3339.seconds, ends))
        match pod_state.phase_of(pod):
            case "Succeeded":
                self._last_success = max(self._last_success, at)
            case "Failed" if meta["uid"] not in self._failed:
                self._failed[meta["uid"]] = at
                start = pod_state.completion_index(pod), _index_failures(pod)
                self._failed_of_index.setdefault(start, at)

    def due(self) -> float:
        """When the next pod may be made, as far as the controller knows of failures."""
        row = [at for uid, at in self._failed.items() if uid in self.known and at > self._last_success]
        return max(row) + _pause(len(row)) if row else 0.0

    def due_of_index(self, pod: Obj) -> float:
        """When this pod could be made, after the failures of its index that it names."""
        failures = _index_failures(pod)
        ended = self._failed_of_index.get((pod_state.completion_index(pod), failures - 1))
        return 0.0 if ended is None else ended + _pause(failures)


def _pause(failures: int) -> int:
    return min(_FIRST_PAUSE_SECONDS << failures - 1, _LONGEST_PAUSE_SECONDS)


def _index_failures(pod: Obj) -> int:
    notes = pod["metadata"].get("annotations") or {}
    return sum(int(notes.get(name, "0")) for name in _INDEX_FAILURES)


def _limits(job: Obj) -> Iterator[tuple[str, int, int | None]]:
    """The reason of each verdict about failures, how many the status tells of, and how many may be."""
    spec, status = job["spec"], job.get("status") or {}
    listed = (status.get("uncountedTerminatedPods") or {}).get("failed") or ()
    yield "BackoffLimitExceeded", status.get("failed", 0) + len(listed), spec["backoffLimit"]
    indexes = job_books.listed(status, "failedIndexes", spec.get("completions") or 0)
    yield "MaxFailedIndexesExceeded", len(indexes), spec.get("maxFailedIndexes")


def _verdicts(job: Obj) -> set[str]:
    """The reasons of the conditions that end a Job."""
    conditions = (job.get("status") or {}).get("conditions") or ()
    return {c["reason"] for c in conditions if c["type"] in _VERDICTS and c["status"] == "True"}
