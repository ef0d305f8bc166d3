"""Recovers the changes of a Job that a controller missed: derives requests from its state. Pure.

After a start upstream treats every pod as new, so that missed failures are never handled and timers start
over. Here a restart changes nothing: an event that was not handled is still visible, since handling it
deletes the pod or raises the Job's version.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import Final

from longshore.api.facts import pod_state, volcano_job_state
from longshore.api.types import Obj
from longshore.controllers.volcano.job.pods import tasks
from longshore.controllers.volcano.job.view import VolcanoJobView
from longshore.controllers.volcano.job.waking import intents, job_requests
from longshore.controllers.volcano.job.waking.job_requests import SYNC, JobRequest
from longshore.controllers.volcano.names import POD_EVICTED, UNKNOWN, pod_name

_COUNTERS: Final = ("pending", "running", "succeeded", "failed", "unknown")


def missed(view: VolcanoJobView) -> list[JobRequest]:
    """Returns the requests that a controller must handle when it sees the Job for the first time."""
    job = view.job
    if volcano_job_state.has_ended(job):
        return [SYNC] if unfinished(view) else []
    found = []
    for pods in view.pods.values():
        for pod in pods.values():
            mine = job_requests.pod_of(pod)
            if mine is not None and not view.is_going(pod):
                found += job_requests.of_change(None, pod, mine, view.task)
    found += _left(view)
    found += _vanished(view)
    if view.group_phase == "Unknown":
        found.append(JobRequest(UNKNOWN))
    return [*found, SYNC]


def leaving(view: VolcanoJobView) -> Iterator[JobRequest]:
    """Yields evictions of pods that others are deleting. The status no longer counts these pods."""
    for pods in view.pods.values():
        for pod in pods.values():
            mine = job_requests.pod_of(pod)
            if mine is not None and view.is_going(pod) and not tasks.marked(pod):
                yield job_requests.of_deletion(pod, mine)


def _left(view: VolcanoJobView) -> Iterator[JobRequest]:
    """Yields requests for pods recorded as leaving that are gone now."""
    there = {pod["metadata"]["uid"] for pods in view.pods.values() for pod in pods.values()}
    return (request for request in intents.read_leaving(view.job) if request.pod_uid not in there)


def _vanished(view: VolcanoJobView) -> Iterator[JobRequest]:
    """Yields eviction requests for pods that the status counts and that no longer exist."""
    job = view.job
    status = job.get("status") or {}
    for name, counts in (status.get("taskStatusCount") or {}).items():
        there = view.pods.get(name, {})
        lost = sum((counts.get("phase") or {}).values()) - len(there)
        task = tasks.find(job, name)
        if task is None or lost <= 0:
            continue
        names = (
            pod_name(job["metadata"]["name"], name, index) for index in range(tasks.replicas(task) + lost)
        )
        missing = ((index, pod) for index, pod in enumerate(names) if pod not in there)
        for index, pod in islice(missing, lost):
            yield JobRequest(
                POD_EVICTED,
                uid=job["metadata"]["uid"],
                task=name,
                pod=pod,
                partition=_partition(task, index),
                version=status.get("version") or 0,
            )


def _partition(task: Obj, index: int) -> str:
    policy = task.get("partitionPolicy")
    return "" if policy is None else str(tasks.partition_of(index, policy.get("partitionSize") or 0))


def unfinished(view: VolcanoJobView) -> bool:
    """Whether a finished Job still has pods, plugins' objects, counters or a PodGroup to remove."""
    status = view.job.get("status") or {}
    alive = any(
        not pod_state.has_ended(pod) and not view.is_going(pod)
        for pods in view.pods.values()
        for pod in pods.values()
    )
    marked = any(key.startswith("plugin-") for key in status.get("controlledResources") or ())
    counted = any(status.get(counter) for counter in _COUNTERS)
    return alive or marked or counted or view.group is not None or not status.get("version")
