"""Pods of Kubernetes' own gangs (alpha): a pod of a Job with a Workload joins its PodGroup, and the pods of a
PodGroup with the policy `gang` are left to the gang scheduler."""

from __future__ import annotations

from typing import Final

from longshore.api import features, reads
from longshore.api.facts import owners
from longshore.api.types import Obj
from longshore.apiserver.admission.lookup import Get, List

_GROUPS: Final = "scheduling.k8s.io/podgroups"
_WORKLOADS: Final = "scheduling.k8s.io/workloads"
_ANNOTATION: Final = "scheduling.k8s.io/group-name"
_DEFAULT_SCHEDULER: Final = "default-scheduler"
_GANG_SCHEDULER: Final = "volcano"


def _is_off(get: Get, every: List, namespace: str) -> bool:
    return not features.is_on(features.WORKLOADS)


@reads.reads("everything", unless=_is_off)
def join(pod: Obj, spec: Obj, get: Get, every: List) -> None:
    """Gives a pod its group, and a pod of a gang its scheduler."""
    if not features.is_on(features.WORKLOADS):
        return
    namespace = pod["metadata"].get("namespace", "")
    name = (spec.get("schedulingGroup") or {}).get("podGroupName") or _of_workload(pod, namespace, every)
    if not name:
        return
    spec["schedulingGroup"] = {"podGroupName": name}
    group = get(_GROUPS, namespace, name)
    policy = ((group or {}).get("spec") or {}).get("schedulingPolicy") or {}
    if "basic" not in policy and spec.get("schedulerName", _DEFAULT_SCHEDULER) == _DEFAULT_SCHEDULER:
        spec["schedulerName"] = _GANG_SCHEDULER
        pod["metadata"].setdefault("annotations", {})[_ANNOTATION] = name


def _of_workload(pod: Obj, namespace: str, every: List) -> str:
    """The PodGroup of the first template of the Workload that names the pod's controller."""
    owner = owners.controller_of(pod)
    if owner is None:
        return ""
    for workload in every(_WORKLOADS, namespace):
        spec = workload.get("spec") or {}
        ref, templates = spec.get("controllerRef") or {}, spec.get("podGroupTemplates") or ()
        if (ref.get("kind"), ref.get("name")) == (owner["kind"], owner["name"]) and templates:
            return f"{workload['metadata']['name']}-{templates[0]['name']}"
    return ""
