"""Reads the caches into a view."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from longshore.api.facts.owners import controller_of
from longshore.api.types import Obj
from longshore.controllers.volcano.job.memory import OneJobMemory
from longshore.controllers.volcano.job.view import VolcanoJobView
from longshore.controllers.volcano.job.waking import job_requests as asking
from longshore.controllers.volcano.job.waking.job_requests import JobRequest
from longshore.controllers.volcano.names import group_name
from longshore.machinery.informers.cache import Cache
from longshore.machinery.work_limits import WorkLimits

PODS_BY_JOB: Final = "pods by Volcano Job"


def pods_by_job(pod: Obj) -> Iterable[str]:
    """Indexes pods by the UID of the Volcano Job that controls them."""
    uid = asking.owner_uid(pod)
    return (uid,) if uid else ()


def pods_of(cache: Cache, uid: str) -> dict[str, dict[str, Obj]]:
    """Returns the pods of a Job, by task and name."""
    found: dict[str, dict[str, Obj]] = {}
    for pod in cache.by_index(PODS_BY_JOB, uid):
        mine = asking.pod_of(pod)
        if mine is not None:
            found.setdefault(mine.task, {})[pod["metadata"]["name"]] = pod
    return found


def observe(
    job: Obj,
    now: float,
    memory: OneJobMemory,
    requests: Iterable[JobRequest] = (),
    *,
    pods: Cache,
    groups: Cache,
    queues: Cache,
    priorities: Cache,
    unwritten: bool,
    busy: bool,
    limits: WorkLimits,
) -> VolcanoJobView:
    """Returns the Job as of now, with the requests to it."""
    queue = job["spec"].get("queue")
    return VolcanoJobView(
        job,
        now,
        pods_of(pods, job["metadata"]["uid"]),
        _group(job, groups, memory),
        queues.get("", queue) if queue else None,
        {value["metadata"]["name"]: value.get("value") or 0 for value in priorities},
        frozenset(memory.going),
        tuple(requests),
        memory.remembered,
        unwritten,
        busy,
        limits,
    )


def _group(job: Obj, groups: Cache, memory: OneJobMemory) -> Obj | None:
    meta = job["metadata"]
    group = groups.get(meta["namespace"], group_name(job))
    if group is None:
        group = groups.get(meta["namespace"], meta["name"])  # as older releases named it
        owner = None if group is None else controller_of(group)
        if owner is None or owner["uid"] != meta["uid"]:
            return None
    return None if group is None or group["metadata"]["uid"] in memory.groups else group
