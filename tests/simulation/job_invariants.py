"""What always holds for Jobs."""

from __future__ import annotations

from collections.abc import Iterator
from math import inf

from longshore.api.facts import job_state, owners, pod_state
from longshore.api.types import Obj
from longshore.testing.promises import TRACKING
from simulation import job_books
from simulation.record import JOBS, PODS, Change, Record

_LATENESS_SECONDS = 90.0
"""For retries after the last fault, and for the grace period of the pods that are killed."""
_STARTED_SECONDS = 30.0
"""Watches lag by four seconds, and their delays add up."""
_CALM_LATENESS_SECONDS = 20.0
"""Watches lag by four seconds, their delays add up, and nobody judges who has not seen their own writes."""
_VERDICTS = ("Complete", "Failed", "FailureTarget", "SuccessCriteriaMet")


def a_finished_pod_is_counted_exactly_once(record: Record) -> Iterator[str]:
    """The counters of a Job are the numbers of its pods that ended, as what they were."""
    for book in job_books.books(record).values():
        if book.is_gone:
            continue  # whoever deletes a Job wants no more counting
        status, name = book.job.get("status") or {}, book.job["metadata"]["name"]
        is_indexed = book.job["spec"]["completionMode"] == "Indexed"
        failed_indexes = job_books.listed(status, "failedIndexes", book.job["spec"].get("completions") or 0)
        succeeded = len(book.completed - failed_indexes) if is_indexed else book.total("succeeded")
        if status.get("succeeded", 0) != succeeded:
            yield f"{name}: succeeded is {status.get('succeeded', 0)}, {succeeded} did: {book.pods}"
        if status.get("failed", 0) != book.total("failed"):
            yield f"{name}: failed is {status.get('failed', 0)}, {book.total('failed')} did: {book.pods}"


def no_pod_is_made_after_the_end(record: Record) -> Iterator[str]:
    """A Job that has ended gets no more pods."""
    for book in job_books.books(record).values():
        if book.late:
            yield f"{book.job['metadata']['name']}: has ended, and then got {sorted(book.late.values())}"


def a_verdict_never_changes(record: Record) -> Iterator[str]:
    """A condition that ends a Job stays as it is, and there is one such end."""
    for change in record.of(JOBS):
        new, old = _verdicts(change.obj), _verdicts(change.old or {})
        if old - new and change.type != "DELETED":
            yield f"{change.key.name}: {sorted(old - new)} was revised to {sorted(new)}"
        ends = {type for type, _ in new}
        if ends >= {"Complete", "Failed"} or ends >= {"SuccessCriteriaMet", "FailureTarget"}:
            yield f"{change.key.name}: two ends: {sorted(new)}"


def counters_never_go_down(record: Record) -> Iterator[str]:
    """Succeeded, failed and completed indexes only grow. Of an Indexed Job that gets fewer completions
    `succeeded` falls: there indexes are compared, and `no_index_succeeds_twice` their number."""
    for change in record.of(JOBS):
        new, old = change.obj.get("status") or {}, (change.old or {}).get("status") or {}
        is_indexed = change.obj["spec"]["completionMode"] == "Indexed"
        for counter in ("failed",) if is_indexed else ("succeeded", "failed"):
            if new.get(counter, 0) < old.get(counter, 0):
                yield f"{change.key.name}: {counter} fell from {old[counter]} to {new.get(counter, 0)}"
        size = change.obj["spec"].get("completions") or 0
        lost = _completed(old, size) - _completed(new, size)
        if lost:
            yield f"{change.key.name}: the indexes {sorted(lost)} are no longer completed"


def no_index_succeeds_twice(record: Record) -> Iterator[str]:
    """The number of completed indexes is what `succeeded` says, at every moment."""
    for change in record.of(JOBS):
        if change.obj["spec"]["completionMode"] != "Indexed":
            continue
        status = change.obj.get("status") or {}
        completed = _completed(status, change.obj["spec"]["completions"])
        if len(completed) != status.get("succeeded", 0):
            yield f"{change.key.name}: completed {sorted(completed)}, succeeded is {status.get('succeeded')}"


def no_more_pods_are_active_than_wanted(record: Record, reaction: float = inf) -> Iterator[str]:
    """Active pods of a Job never outnumber its parallelism, nor what its completions leave to do; and no
    index has two of them. For `reaction` seconds a larger parallelism of before counts, too."""
    jobs: dict[str, Obj] = {}
    wanted: dict[str, list[tuple[float, int]]] = {}
    active: dict[str, dict[str, int | None]] = {}
    succeeded: dict[str, set[str]] = {}
    for change in record.changes:
        if change.key.storage == JOBS:
            uid = change.obj["metadata"]["uid"]
            jobs[uid] = change.obj
            parallelism = change.obj["spec"]["parallelism"]
            if uid not in wanted or wanted[uid][-1][1] != parallelism:
                wanted.setdefault(uid, []).append((change.at, parallelism))
        owner = owners.controller_of(change.obj) if change.key.storage == PODS else None
        if owner is None and change.key.storage == PODS:
            _forget(change, active, succeeded)
        if owner is None or owner["uid"] not in jobs:
            continue
        pods, done = active.setdefault(owner["uid"], {}), succeeded.setdefault(owner["uid"], set())
        index = pod_state.completion_index(change.obj)
        if _is_active(change.obj) and change.type != "DELETED":
            pods[change.key.name] = index
        else:
            pods.pop(change.key.name, None)
            if _is_a_success(change.obj):
                done.add(change.key.name if index is None else str(index))
        recent = wanted[owner["uid"]]
        while len(recent) > 1 and recent[1][0] < change.at - reaction:
            del recent[0]
        most, completions = max(number for _, number in recent), jobs[owner["uid"]]["spec"].get("completions")
        if completions is not None:
            most = min(most, completions - len(done))
        if change.type == "ADDED" and len(pods) > most:
            yield f"{owner['name']}: {len(pods)} pods are active, {most} wanted"
        if change.type == "ADDED" and index is not None and [*pods.values()].count(index) > 1:
            yield f"{owner['name']}: index {index} has two pods"


def a_finished_job_leaves_nothing_behind(record: Record) -> Iterator[str]:
    """A Job that has ended has no active pod, and nothing that waits to be counted."""
    pods = record.last(PODS)
    for uid, job in record.at_rest(JOBS).items():
        status, name = job.get("status") or {}, job["metadata"]["name"]
        uncounted = status.get("uncountedTerminatedPods") or {}
        if any(uncounted.values()):
            yield f"{name}: still uncounted: {uncounted}"
        if not job_state.has_ended(job):
            continue
        left = [p["metadata"]["name"] for p in pods.values() if _is_owned(p, uid) and _is_active(p)]
        if left or status.get("active"):
            yield f"{name}: has ended, and {left or status['active']} are active"


def a_suspended_job_runs_nothing(record: Record) -> Iterator[str]:
    """At rest a suspended Job has no active pod."""
    pods = record.last(PODS)
    for uid, job in record.at_rest(JOBS).items():
        left = [p["metadata"]["name"] for p in pods.values() if _is_owned(p, uid) and _is_active(p)]
        if job["spec"].get("suspend") and left:
            yield f"{job['metadata']['name']}: is suspended, and {left} are active"


def a_job_starts_soon(record: Record) -> Iterator[str]:
    """A Job has its first pod soon after it was created, unless a quota may refuse it.

    At once, where no request fails and nobody dies; else once it is calm.
    """
    scenario = record.scenario
    if scenario.is_rationed:
        return
    waiting: dict[str, tuple[str, float]] = {}
    for change in record.changes:
        uid = change.obj["metadata"]["uid"]
        if change.key.storage == JOBS:
            is_new = change.type == "ADDED" and change.obj["spec"].get("completions") != 0
            if is_new and not change.obj["spec"].get("suspend"):
                waiting[uid] = change.key.name, change.at
            elif change.type == "DELETED" or "deletionTimestamp" in change.obj["metadata"]:
                waiting.pop(uid, None)
        elif change.key.storage == PODS and (owner := owners.controller_of(change.obj)) is not None:
            name, since = waiting.pop(owner["uid"], ("", change.at))
            smooth, calm = since + _STARTED_SECONDS, max(scenario.calm_at, since) + _LATENESS_SECONDS
            if change.at > (smooth if scenario.is_smooth else calm):
                yield f"{name}: created at {since:.0f}, its first pod at {change.at:.0f}"


def a_deadline_is_kept(record: Record) -> Iterator[str]:
    """The verdict on a Job is there soon after its activeDeadlineSeconds; where nobody sets the clock.

    At once, where no request fails and nobody dies; else once it is calm.
    """
    scenario = record.scenario
    if any(deed.verb == "jump" for deed in scenario.deeds):
        return
    started: dict[str, float] = {}
    for change in record.of(JOBS):
        uid, deadline = change.obj["metadata"]["uid"], change.obj["spec"].get("activeDeadlineSeconds")
        new, old = change.obj.get("status") or {}, (change.old or {}).get("status") or {}
        if new.get("startTime") != old.get("startTime"):
            started[uid] = change.at
        if deadline is None or uid not in started or not _verdicts(change.obj):
            continue
        due = started.pop(uid) + deadline
        latest = (
            due + _CALM_LATENESS_SECONDS
            if scenario.is_smooth
            else max(scenario.calm_at, due) + _LATENESS_SECONDS
        )
        if change.at > latest:
            yield f"{change.key.name}: judged at {change.at:.0f}, its deadline was at {due:.0f}"


def a_job_goes_when_its_time_is_up(record: Record) -> Iterator[str]:
    """At rest no Job is left that has ended and had a ttlSecondsAfterFinished."""
    for job in record.at_rest(JOBS).values():
        if job_state.has_ended(job) and job["spec"].get("ttlSecondsAfterFinished") is not None:
            seconds = job["spec"]["ttlSecondsAfterFinished"]
            yield f"{job['metadata']['name']}: was to go {seconds} s after its end"


def only_what_has_ended_is_cleaned_up(record: Record) -> Iterator[str]:
    """A Job that nobody deletes, and no CronJob replaces, goes only after its end."""
    meddled = {deed.name for deed in record.scenario.deeds if deed.verb == "delete"}
    for change in record.of(JOBS):
        is_going = change.type == "DELETED" or "deletionTimestamp" in change.obj["metadata"]
        if not is_going or change.key.name in meddled or owners.controller_of(change.obj) is not None:
            continue
        if not job_state.has_ended(change.obj):
            yield f"{change.key.name}: is deleted before its end"


def _forget(change: Change, active: dict[str, dict[str, int | None]], succeeded: dict[str, set[str]]) -> None:
    """A pod was released: it is no pod of its Job any more, however it ends."""
    uid = (owners.controller_of(change.old or {"metadata": {}}) or {}).get("uid", "")
    index = pod_state.completion_index(change.obj)
    active.get(uid, {}).pop(change.key.name, None)
    succeeded.get(uid, set()).discard(change.key.name if index is None else str(index))


def _verdicts(job: Obj) -> set[tuple[str, str]]:
    conditions = (job.get("status") or {}).get("conditions") or ()
    return {(c["type"], c["reason"]) for c in conditions if c["type"] in _VERDICTS and c["status"] == "True"}


def _completed(status: Obj, size: int) -> set[int]:
    return job_books.listed(status, "completedIndexes", size)


def _is_active(pod: Obj) -> bool:
    return not pod_state.has_ended(pod) and "deletionTimestamp" not in pod["metadata"]


def _is_a_success(pod: Obj) -> bool:
    """Whether the Job counts it. One that was let go before its end, and was not deleted since the controller
    died or was refused, counts for nothing however it ends."""
    meta = pod["metadata"]
    is_tracked = TRACKING in (meta.get("finalizers") or ())
    return pod_state.phase_of(pod) == "Succeeded" and is_tracked and "deletionTimestamp" not in meta


def _is_owned(pod: Obj, uid: str) -> bool:
    owner = owners.controller_of(pod)
    return owner is not None and owner["uid"] == uid
