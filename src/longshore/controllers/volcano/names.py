"""Names that a Volcano Job, its pods and its PodGroup share: kinds, keys, phases, actions, events.

Also the amounts that a quota charges for a pod, which a PodGroup sums up."""

from __future__ import annotations

from typing import Final

from longshore.api import pod_resources
from longshore.api.facts import kinds, owners
from longshore.api.facts.volcano_job_state import TASK_INDEX as TASK_INDEX
from longshore.api.types import Obj

TASK_SPEC: Final = "volcano.sh/task-spec"
JOB_NAME: Final = "volcano.sh/job-name"
JOB_NAMESPACE: Final = "volcano.sh/job-namespace"
JOB_VERSION: Final = "volcano.sh/job-version"
JOB_RETRIES: Final = "volcano.sh/job-retry-count"
QUEUE_NAME: Final = "volcano.sh/queue-name"
TEMPLATE: Final = "volcano.sh/template-uid"
PARTITION: Final = "volcano.sh/partition-id"
FORWARDING: Final = "volcano.sh/job-forwarding"
PREEMPTABLE: Final = "volcano.sh/preemptable"
COOLDOWN: Final = "volcano.sh/cooldown-time"
REVOCABLE_ZONE: Final = "volcano.sh/revocable-zone"
BUDGET_MIN: Final = "volcano.sh/jdb-min-available"
BUDGET_MAX: Final = "volcano.sh/jdb-max-unavailable"
NUMA_POLICY: Final = "volcano.sh/numa-topology-policy"
GROUP: Final = "scheduling.k8s.io/group-name"
OUT_OF_SYNC_MARK: Final = "volcano.sh/controller-out-of-sync"
"""The annotation of a pod that the controller itself deletes; policies ignore its end."""

PENDING: Final = "Pending"
RUNNING: Final = "Running"
RESTARTING: Final = "Restarting"
COMPLETING: Final = "Completing"
COMPLETED: Final = "Completed"
TERMINATING: Final = "Terminating"
TERMINATED: Final = "Terminated"
ABORTING: Final = "Aborting"
ABORTED: Final = "Aborted"
FAILED: Final = "Failed"

SYNC_JOB: Final = "SyncJob"
RESTART_JOB: Final = "RestartJob"
RESTART_TASK: Final = "RestartTask"
RESTART_POD: Final = "RestartPod"
RESTART_PARTITION: Final = "RestartPartition"
ABORT_JOB: Final = "AbortJob"
COMPLETE_JOB: Final = "CompleteJob"
TERMINATE_JOB: Final = "TerminateJob"
RESUME_JOB: Final = "ResumeJob"

ANY_EVENT: Final = "*"
POD_PENDING: Final = "PodPending"
POD_RUNNING: Final = "PodRunning"
POD_FAILED: Final = "PodFailed"
POD_EVICTED: Final = "PodEvicted"
UNKNOWN: Final = "Unknown"
TASK_COMPLETED: Final = "TaskCompleted"
TASK_FAILED: Final = "TaskFailed"
OUT_OF_SYNC: Final = "OutOfSync"
COMMAND_ISSUED: Final = "CommandIssued"


def group_phase(group: Obj) -> str:
    """Returns the phase of a PodGroup; empty before a scheduler has seen it."""
    phase: str = (group.get("status") or {}).get("phase") or ""
    return phase


def opens_gate(phase: str) -> bool:
    """Whether a Job whose PodGroup is in this phase may have pods."""
    return phase not in ("", PENDING)


def owner_reference(job: Obj) -> Obj:
    """Returns the owner reference for objects of a Job, so that they are deleted with it."""
    return owners.controller_ref(job, kinds.VOLCANO_JOBS)


_MAX_INDEX_DIGITS: Final = 10
"""Digits of the largest index: replicas are 32-bit numbers."""


def pod_name(job: str, task: str, index: int) -> str:
    return f"{job}-{task}-{index}"


def pod_index(job: str, task: str, pod: str) -> int | None:
    """Returns the index in the name of a task's pod; None for any other name."""
    digits = pod.removeprefix(f"{job}-{task}-")
    if len(digits) > _MAX_INDEX_DIGITS or not digits.isdecimal():
        return None
    index = int(digits)
    return index if pod_name(job, task, index) == pod else None


def group_name(job: Obj) -> str:
    """Returns the PodGroup's name. Older releases gave the PodGroup the Job's name."""
    meta = job["metadata"]
    return f"{meta['name']}-{meta['uid']}"


_NATIVE: Final = ("cpu", "memory", "ephemeral-storage")
"""The resources of every node."""


def quota_charge(spec: Obj) -> dict[str, str]:
    """Returns the amounts that a ResourceQuota would charge for a pod with this spec."""
    charged = {"pods": "1", "count/pods": "1"}
    for name, amount in pod_resources.pod_requests(spec).items():
        extended = pod_resources.is_extended(name)
        if name in _NATIVE or name.startswith(pod_resources.HUGE_PAGES) or extended:
            charged[name] = charged[f"requests.{name}"] = amount
    for name, amount in pod_resources.pod_limits(spec).items():
        if name in _NATIVE:
            charged[f"limits.{name}"] = amount
    return charged
