"""Makes a Job's pods from its tasks' templates: names, labels, annotations, volumes, then plugins."""

from __future__ import annotations

from typing import Any, Final

from longshore.api import types
from longshore.api.types import Obj
from longshore.controllers.volcano import names
from longshore.controllers.volcano.job.pods import job_volumes, tasks

_FROM_ANNOTATIONS: Final = (names.PREEMPTABLE, names.COOLDOWN, names.REVOCABLE_ZONE)
_FROM_LABELS: Final = (names.PREEMPTABLE, names.COOLDOWN)


def pod(job: Obj, task: Obj, index: int) -> Obj:
    """Returns the pod of `task` at `index`, a copy that plugins may change."""
    meta, template = job["metadata"], task["template"]
    name = task["name"]
    made: Obj = {
        "metadata": {
            "name": names.pod_name(meta["name"], name, index),
            "namespace": meta["namespace"],
            "ownerReferences": [names.owner_reference(job)],
            "labels": _labels(job, task, index),
            "annotations": _annotations(job, task, index),
        },
        "spec": types.copy_of(template["spec"]),
    }
    spec = made["spec"]
    if not spec.get("schedulerName"):
        spec["schedulerName"] = job["spec"].get("schedulerName") or "volcano"
    if not spec.get("priorityClassName") and job["spec"].get("priorityClassName"):
        spec["priorityClassName"] = job["spec"]["priorityClassName"]
    job_volumes.mount(job, made, own_list)
    return made


def own_list(within: Obj, key: str) -> list[Any]:
    """Returns the list under `key`; adds an empty one if there is none."""
    found: list[Any] | None = within.get(key)
    if found is None:
        found = within[key] = []
    return found


def _labels(job: Obj, task: Obj, index: int) -> Obj:
    meta, spec = job["metadata"], job["spec"]
    made = dict((task["template"].get("metadata") or {}).get("labels") or {})
    made[names.TASK_INDEX] = str(index)
    made[names.JOB_NAME] = meta["name"]
    made[names.JOB_NAMESPACE] = meta["namespace"]
    made[names.TASK_SPEC] = task["name"]
    made[names.QUEUE_NAME] = spec.get("queue") or ""
    policy = task.get("partitionPolicy")
    if policy is not None:
        made[names.PARTITION] = str(tasks.partition_of(index, policy.get("partitionSize") or 0))
    if names.FORWARDING in (meta.get("annotations") or {}):
        made[names.FORWARDING] = "true"
    given = meta.get("labels") or {}
    return made | {key: given[key] for key in _FROM_LABELS if key in given}


def _annotations(job: Obj, task: Obj, index: int) -> Obj:
    meta, status = job["metadata"], job.get("status") or {}
    name = task["name"]
    made = dict((task["template"].get("metadata") or {}).get("annotations") or {})
    made[names.TASK_INDEX] = str(index)
    made[names.TASK_SPEC] = name
    made[names.GROUP] = names.group_name(job)
    made[names.JOB_NAME] = meta["name"]
    made[names.QUEUE_NAME] = job["spec"].get("queue") or ""
    made[names.JOB_VERSION] = str(status.get("version") or 0)
    made[names.TEMPLATE] = f"{meta['name']}-{name}"
    made[names.JOB_RETRIES] = str(status.get("retryCount") or 0)
    if task.get("topologyPolicy"):
        made[names.NUMA_POLICY] = task["topologyPolicy"]
    given = meta.get("annotations") or {}
    made |= {key: given[key] for key in _FROM_ANNOTATIONS if key in given}
    budget = names.BUDGET_MIN if names.BUDGET_MIN in given else names.BUDGET_MAX
    if budget in given:
        made[budget] = given[budget]
    if names.FORWARDING in given:
        made[names.FORWARDING] = given[names.FORWARDING]
    return made
