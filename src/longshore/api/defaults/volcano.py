"""Defaults that Volcano's webhooks fill in on create, beyond those of its schemas.

The objects have been read by Go's types already, so types are right here;
only nulls need care.
"""

from __future__ import annotations

from typing import Final

from longshore.api.defaults import fill
from longshore.api.types import Obj

DEFAULT_QUEUE: Final = "default"
SCHEDULER: Final = "volcano"
HIERARCHY: Final = "volcano.sh/hierarchy"
WEIGHTS: Final = "volcano.sh/hierarchy-weights"
QUEUE_ANNOTATION: Final = "scheduling.volcano.sh/queue-name"
_MAX_RETRIES: Final = 3
_NEED_SVC: Final = ("tensorflow", "mpi", "pytorch", "ray")


def default_job(spec: Obj) -> None:
    """Fills in the spec of a new Job."""
    fill(spec, queue=DEFAULT_QUEUE, schedulerName=SCHEDULER, maxRetry=_MAX_RETRIES)
    tasks = spec.get("tasks") or ()
    for index, task in enumerate(tasks):
        _task(task, index)
    if not spec.get("minAvailable"):
        spec["minAvailable"] = sum(task["minAvailable"] for task in tasks)
    plugins = spec.get("plugins")
    if plugins is not None:
        if any(name in plugins for name in _NEED_SVC):
            plugins.setdefault("svc", [])
        if "mpi" in plugins:
            plugins.setdefault("ssh", [])


def _task(task: Obj, index: int) -> None:
    fill(task, name=f"default{index}")
    pod = (task.get("template") or {}).get("spec") or {}
    if pod.get("hostNetwork") and not pod.get("dnsPolicy"):
        pod["dnsPolicy"] = "ClusterFirstWithHostNet"
    if task.get("minAvailable") is None:
        task["minAvailable"] = _least(task)
    fill(task, maxRetry=_MAX_RETRIES)


def _least(task: Obj) -> int:
    policy = task.get("partitionPolicy") or {}
    whole: int = (policy.get("minPartitions") or 0) * (policy.get("partitionSize") or 0)
    replicas: int = task.get("replicas") or 0
    return whole if (policy.get("minPartitions") or 0) > 0 else replicas


def default_queue(queue: Obj) -> None:
    """Fills in a new Queue."""
    annotations = queue["metadata"].get("annotations") or {}
    path, weights = annotations.get(HIERARCHY), annotations.get(WEIGHTS)
    if path and weights and not path.startswith("root"):
        annotations[HIERARCHY], annotations[WEIGHTS] = f"root/{path}", f"1/{weights}"
    spec = queue.get("spec")
    if spec is None:
        spec = queue["spec"] = {}
    if spec.get("reclaimable") is None:
        spec["reclaimable"] = True
    fill(spec, weight=1)


def default_pod_group(spec: Obj, namespace: Obj | None) -> None:
    """Gives a pod group without a queue the queue that the namespace's annotation names."""
    if spec.get("queue", DEFAULT_QUEUE) != DEFAULT_QUEUE or namespace is None:
        return
    named = (namespace["metadata"].get("annotations") or {}).get(QUEUE_ANNOTATION)
    if named:
        spec["queue"] = named
