"""What always holds for CronJobs."""

from __future__ import annotations

from collections.abc import Iterator

from longshore.api.facts import job_state, owners
from simulation.record import CRONJOBS, JOBS, Record

_SCHEDULED = "batch.kubernetes.io/cronjob-scheduled-timestamp"


def no_time_runs_twice(record: Record) -> Iterator[str]:
    """One CronJob starts at most one Job for each time of its schedule."""
    seen: set[tuple[str, str]] = set()
    for change in record.of(JOBS):
        owner = owners.controller_of(change.obj)
        time = (change.obj["metadata"].get("annotations") or {}).get(_SCHEDULED)
        if change.type != "ADDED" or owner is None or time is None:
            continue
        if (owner["uid"], time) in seen:
            yield f"{owner['name']}: ran twice for {time}"
        seen.add((owner["uid"], time))


def forbid_never_overlaps(record: Record) -> Iterator[str]:
    """While a Job of a CronJob with Forbid runs, it starts no other."""
    yield from _overlaps(record, "Forbid")


def replace_leaves_one(record: Record) -> Iterator[str]:
    """When a CronJob with Replace starts a Job, those before it have ended or are deleted."""
    yield from _overlaps(record, "Replace")


def its_active_list_is_true(record: Record) -> Iterator[str]:
    """At rest a CronJob lists no Job as active that has ended or is gone."""
    jobs = record.last(JOBS)
    for cron_job in record.at_rest(CRONJOBS).values():
        for ref in (cron_job.get("status") or {}).get("active") or ():
            job = jobs.get(ref["uid"])
            if job is None or job_state.has_ended(job):
                yield f"{cron_job['metadata']['name']}: lists {ref['name']} as active"


def history_is_kept_within_its_limits(record: Record) -> Iterator[str]:
    """At rest a CronJob has no more finished Jobs than its limits allow."""
    jobs = record.last(JOBS)
    for uid, cron_job in record.at_rest(CRONJOBS).items():
        spec = cron_job["spec"]
        for end, limit in (
            ("Complete", spec.get("successfulJobsHistoryLimit", 3)),
            ("Failed", spec.get("failedJobsHistoryLimit", 1)),
        ):
            kept = [
                job["metadata"]["name"]
                for job in jobs.values()
                if (owners.controller_of(job) or {}).get("uid") == uid
                and (job_state.end_of(job) or {}).get("type") == end
            ]
            if len(kept) > limit:
                yield f"{cron_job['metadata']['name']}: {len(kept)} {end} Jobs are kept, {limit} allowed"


def _overlaps(record: Record, policy: str) -> Iterator[str]:
    """The Jobs that a CronJob with this concurrencyPolicy starts beside others. One that is being deleted
    stands in the way of Forbid only."""
    followers: set[str] = set()
    running: dict[str, set[str]] = {}
    for change in record.changes:
        meta = change.obj["metadata"]
        if change.key.storage == CRONJOBS and change.obj["spec"]["concurrencyPolicy"] == policy:
            followers.add(meta["uid"])
        if change.key.storage != JOBS:
            continue
        owner = owners.controller_of(change.obj)
        if owner is None or owner["uid"] not in followers:
            continue
        jobs = running.setdefault(owner["uid"], set())
        if change.type == "ADDED" and jobs:
            yield f"{owner['name']}: {change.key.name} starts while {sorted(jobs)} run"
        is_replaced = policy == "Replace" and "deletionTimestamp" in meta
        if change.type == "DELETED" or is_replaced or job_state.has_ended(change.obj):
            jobs.discard(change.key.name)
        else:
            jobs.add(change.key.name)
