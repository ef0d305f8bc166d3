"""Functions about a Job's tasks, and about the pods of one task."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from longshore.api.facts import pod_state
from longshore.api.types import Obj
from longshore.controllers.volcano.names import OUT_OF_SYNC_MARK, PARTITION

_DEFAULT_RETRIES: Final = 3
_UNLIMITED: Final = -1


def replicas(task: Obj) -> int:
    return task.get("replicas") or 0


def total_replicas(job: Obj) -> int:
    return sum(replicas(task) for task in job["spec"].get("tasks") or ())


def minimum(task: Obj) -> int:
    """Returns how many pods of the task the Job needs: minAvailable, or all replicas."""
    wanted: int | None = task.get("minAvailable")
    return replicas(task) if wanted is None else wanted


def total_minimum(job: Obj) -> int:
    return sum(minimum(task) for task in job["spec"].get("tasks") or ())


def find(job: Obj, name: str) -> Obj | None:
    for task in job["spec"].get("tasks") or ():
        if task.get("name") == name:
            found: Obj = task
            return found
    return None


def any_policies(job: Obj) -> bool:
    """Whether the Job, or one of its tasks, has policies."""
    spec = job["spec"]
    return bool(spec.get("policies")) or any(task.get("policies") for task in spec.get("tasks") or ())


def partition_of(index: int, size: int) -> int:
    return index // size if size > 0 else 0


def phase(pod: Obj) -> str:
    found: str = (pod.get("status") or {}).get("phase") or ""
    return found


def is_new(pod: Obj) -> bool:
    """Whether the pod is pending, not marked and not being deleted."""
    return phase(pod) in ("", "Pending") and not marked(pod) and "deletionTimestamp" not in pod["metadata"]


def same(old: Obj, new: Obj) -> bool:
    """Whether a change of a pod does not matter to a sync of its Job, such as its node."""
    before, after = old.get("status") or {}, new.get("status") or {}
    if before.get("phase") != after.get("phase"):
        return False
    meta, new_meta = old["metadata"], new["metadata"]
    return (
        before.get("containerStatuses") == after.get("containerStatuses")
        and before.get("initContainerStatuses") == after.get("initContainerStatuses")
        and meta.get("annotations") == new_meta.get("annotations")
        and meta.get("labels") == new_meta.get("labels")
        and meta.get("ownerReferences") == new_meta.get("ownerReferences")
        and ("deletionTimestamp" in meta) == ("deletionTimestamp" in new_meta)
    )


def marked(pod: Obj) -> bool:
    """Whether the controller itself deletes the pod."""
    return (pod["metadata"].get("annotations") or {}).get(OUT_OF_SYNC_MARK) == "true"


def partition(pod: Obj) -> str:
    found: str = (pod["metadata"].get("labels") or {}).get(PARTITION) or ""
    return found


def completed(task: Obj, pods: Iterable[Obj]) -> bool:
    """Whether at least as many pods of the task have succeeded as it has replicas."""
    wanted = replicas(task)
    return wanted > 0 and sum(phase(pod) == "Succeeded" for pod in pods) >= wanted


def failed(task: Obj, pods: Iterable[Obj]) -> bool:
    """Whether the restarts of the task's running and pending pods, in sum, reach its maxRetry."""
    limit = task.get("maxRetry") or _DEFAULT_RETRIES
    if not replicas(task) or limit == _UNLIMITED:
        return False
    return sum(pod_state.restarts(pod) for pod in pods if phase(pod) in ("Running", "Pending")) >= limit
