"""Makes requests to a Job from changes of pods, PodGroups and Commands. Pure functions.

A request is a value: equal requests in an inbox are one.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import msgspec

from longshore.api.facts import kinds, pod_state
from longshore.api.facts.owners import controller_of
from longshore.api.time import rfc3339
from longshore.api.types import Obj
from longshore.controllers.volcano import names
from longshore.controllers.volcano.job.pods import tasks


@dataclass(frozen=True, slots=True)
class JobRequest:
    """One event of a Job, with all that a policy may match."""

    event: str = names.OUT_OF_SYNC
    uid: str = ""
    """The UID of the Job; empty if the source does not know it."""
    task: str = ""
    pod: str = ""
    pod_uid: str = ""
    partition: str = ""
    exit_code: int = 0
    version: int = 0
    action: str = ""
    """The action of a Command, which overrides policies."""
    command: str = ""
    """The name of the Command, if the request comes from one."""
    since: float | None = field(default=None, compare=False)
    """When the event happened, in seconds since 1970; None means now."""


SYNC = JobRequest()


class PodOf(msgspec.Struct, frozen=True):
    """The Job, task and Job version that a pod belongs to."""

    uid: str
    task: str
    version: int


TaskPods = Callable[[str], tuple[Obj | None, list[Obj]]]
"""A function from a task's name to its spec and its cached pods."""


def owner_uid(pod: Obj) -> str:
    """Returns the UID of the Volcano Job that controls the pod; empty if none does."""
    ref = controller_of(pod)
    if (
        ref is None
        or ref.get("kind") != kinds.VOLCANO_JOBS[1]
        or ref.get("apiVersion") != kinds.VOLCANO_JOBS[0]
    ):
        return ""
    uid: str = ref["uid"]
    return uid


def pod_of(pod: Obj) -> PodOf | None:
    """Returns None if no Volcano Job controls the pod, or its annotations are missing or wrong."""
    uid = owner_uid(pod)
    notes = pod["metadata"].get("annotations") or {}
    if not uid or names.JOB_NAME not in notes or names.TASK_SPEC not in notes:
        return None
    try:
        return PodOf(uid, notes[names.TASK_SPEC], int(notes.get(names.JOB_VERSION, "")))
    except ValueError:
        return None


def job_name(pod: Obj) -> str:
    name: str = pod["metadata"]["annotations"][names.JOB_NAME]
    return name


def about(pod: Obj, mine: PodOf, event: str, *, exit_code: int = 0, since: float | None = None) -> JobRequest:
    meta = pod["metadata"]
    return JobRequest(
        event,
        uid=mine.uid,
        task=mine.task,
        pod=meta["name"],
        pod_uid=meta["uid"],
        partition=tasks.partition(pod),
        exit_code=exit_code,
        version=mine.version,
        since=since,
    )


def of_change(old: Obj | None, new: Obj, mine: PodOf, task_pods: TaskPods) -> list[JobRequest]:
    """Returns the requests for a pod that changed, or is seen for the first time (`old` is None)."""
    if tasks.marked(new):
        return [about(new, mine, names.OUT_OF_SYNC)]
    phase = tasks.phase(new)
    fresh = old is None or tasks.phase(old) != phase
    if phase == "Failed" and fresh:
        code = pod_state.main_end(new).get("exitCode") or 0
        return [about(new, mine, names.POD_FAILED, exit_code=code, since=ended(new))]
    if phase == "Succeeded" and fresh:
        task, pods = task_pods(mine.task)
        done = task is not None and tasks.completed(task, pods)
        since = max((when for pod in pods if (when := ended(pod))), default=None)
        return [about(new, mine, names.TASK_COMPLETED if done else names.OUT_OF_SYNC, since=since)]
    if phase in ("Running", "Pending"):
        found = []
        task, pods = task_pods(mine.task)
        # As upstream, a change of phase makes a request about the pod; the next change makes one about the
        # task.
        if (old is None or not fresh) and task is not None and tasks.failed(task, pods):
            found.append(about(new, mine, names.TASK_FAILED))
        if fresh:
            event = names.POD_RUNNING if phase == "Running" else names.POD_PENDING
            since = None if event == names.POD_RUNNING else created(new)
            found.append(about(new, mine, event, since=since))
        return found or [about(new, mine, names.OUT_OF_SYNC)]
    return [about(new, mine, names.OUT_OF_SYNC)]


def of_deletion(pod: Obj, mine: PodOf) -> JobRequest:
    return about(pod, mine, names.OUT_OF_SYNC if tasks.marked(pod) else names.POD_EVICTED)


def of_group(group: Obj) -> JobRequest:
    """Returns the request for a PodGroup whose phase changed, without UID or version of the Job."""
    return JobRequest(names.UNKNOWN if names.group_phase(group) == names.UNKNOWN else "")


def of_command(command: Obj) -> JobRequest:
    return JobRequest(
        names.COMMAND_ISSUED,
        uid=(command.get("target") or {}).get("uid") or "",
        action=command.get("action") or "",
        command=command["metadata"]["name"],
    )


def created(pod: Obj) -> float | None:
    return _seconds(pod["metadata"].get("creationTimestamp"))


def ended(pod: Obj) -> float | None:
    """Returns when the last container ended, or else when the pod ceased to be ready."""
    status = pod.get("status") or {}
    ends = [
        _seconds(((container.get("state") or {}).get("terminated") or {}).get("finishedAt"))
        for container in pod_state.statuses_of(pod, "containerStatuses")
    ]
    ends += [
        _seconds(condition.get("lastTransitionTime"))
        for condition in status.get("conditions") or ()
        if condition.get("type") == "Ready" and not any(ends)
    ]
    return max((end for end in ends if end is not None), default=None)


def _seconds(text: str | None) -> float | None:
    return rfc3339.seconds(text) if text else None
