"""Reads the caches into a view. Also adopts orphan pods that the Job selects, and releases pods that it no
longer selects."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from longshore.api.facts import kinds
from longshore.api.types import Obj
from longshore.client import Client
from longshore.controllers.job.ends import failure_policy
from longshore.controllers.job.memory import JobMemory
from longshore.controllers.job.pods import pace
from longshore.controllers.job.pods.roll import Roll
from longshore.controllers.job.spec import FINALIZER
from longshore.controllers.job.view import REPLACEMENT_PAUSES, JobView
from longshore.controllers.job.waking import selector_index
from longshore.machinery.informers.cache import Cache, Key
from longshore.machinery.writes.claims import Claims


async def observe(
    client: Client,
    key: Key,
    job: Obj,
    pods: Cache,
    memory: JobMemory,
    now: float,
    on_write: Callable[[Obj], Any],
) -> JobView:
    """Returns the Job with its pods as of now, after adopting and releasing pods."""
    # Before the pods are listed: what is seen in between can only make them look newer than expected.
    patience = memory.expectations.patience(key)
    roll = await _claimed(client, key, job, pods, memory, on_write)
    evidence: list[Obj] = []
    if failure_policy.may_fail_job(failure_policy.rules_of(job)):
        evidence = pods.by_index(selector_index.PODS_BY_JOB, selector_index.counted_failures_key(job))
    going = frozenset(memory.going.uids(key))
    times = pace.pauses(job, REPLACEMENT_PAUSES)
    return JobView(
        job,
        now,
        roll,
        evidence,
        patience,
        going,
        memory.backoff(key, job.get("status") or {}),
        times,
        memory.next_starts.get(key),
        key in memory.namespace_going,
    )


async def _claimed(
    client: Client, key: Key, job: Obj, pods: Cache, memory: JobMemory, on_write: Callable[[Obj], Any]
) -> Roll:
    kept = memory.rolls.now(job)
    unclear = [*kept.strangers.values()]
    left = set() if "deletionTimestamp" in job["metadata"] else {pod["metadata"]["uid"] for pod in unclear}
    for pod in pods.by_index(selector_index.PODS_BY_JOB, selector_index.orphans_key(job)):
        if kept.matches(pod["metadata"].get("labels") or {}):
            unclear.append(pod)
    if not unclear:
        return kept.roll
    if left:
        # A released pod counts if it was listed, and never again: the cache may show it as ours still.
        memory.going.expect(key, left)

    def wrote(pod: Obj) -> None:
        left.discard(pod["metadata"]["uid"])
        on_write(pod)

    claims = Claims(
        client, kinds.PODS, job, kinds.JOBS, kept.matches, finalizers=(FINALIZER,), on_write=wrote
    )
    try:
        for adopted in await claims.claim(unclear):
            memory.going.observed(key, adopted["metadata"]["uid"])
            kept.adopt(adopted)
    except BaseException:
        for uid in left:
            memory.going.observed(key, uid)
        raise
    return kept.roll
