"""The next step for a Workload or a PodGroup of scheduling.k8s.io. Pure functions.

A Workload that names its controller gets a PodGroup for each of its templates. A PodGroup with the policy
`gang` gets a group of the same name for the gang scheduler, whose state it tells in `PodGroupScheduled`.
"""

from __future__ import annotations

from typing import Final

from longshore.api.facts import kinds, owners
from longshore.api.types import Obj

QUEUE: Final = "default"
_TYPE: Final = "PodGroupScheduled"
_SCHEDULED: Final = ("Running", "Completed")


def pod_groups(workload: Obj) -> list[Obj]:
    """The PodGroups of a Workload; none of one that names no controller, or that a controller made: such a
    controller makes its own."""
    spec, meta = workload.get("spec") or {}, workload["metadata"]
    if not spec.get("controllerRef") or "deletionTimestamp" in meta or owners.controller_of(workload):
        return []
    return [
        {
            "metadata": {
                "name": f"{meta['name']}-{template['name']}",
                "namespace": meta["namespace"],
                "ownerReferences": [owners.controller_ref(workload, kinds.WORKLOADS)],
            },
            "spec": {
                "podGroupTemplateRef": {
                    "workload": {"workloadName": meta["name"], "podGroupTemplateName": template["name"]}
                },
                "schedulingPolicy": template["schedulingPolicy"],
            },
        }
        for template in spec.get("podGroupTemplates") or ()
    ]


def gang(group: Obj) -> Obj | None:
    """The gang scheduler's group for a PodGroup; None for one whose pods are scheduled one by one."""
    policy = ((group.get("spec") or {}).get("schedulingPolicy") or {}).get("gang")
    meta = group["metadata"]
    if not policy or "deletionTimestamp" in meta:
        return None
    return {
        "metadata": {
            "name": meta["name"],
            "namespace": meta["namespace"],
            "ownerReferences": [owners.controller_ref(group, kinds.SCHEDULING_GROUPS)],
        },
        "spec": {"minMember": policy["minCount"], "queue": QUEUE},
    }


def condition(group: Obj, gang: Obj, now: str) -> Obj | None:
    """The condition that a PodGroup should have, by the state of its gang; None when it has it."""
    status = gang.get("status") or {}
    told = {each["type"]: each for each in status.get("conditions") or ()}
    if status.get("phase") in _SCHEDULED:
        new = {"status": "True", "reason": "Scheduled", "message": "all required pods have been scheduled"}
    elif "Unschedulable" in told:
        message = told["Unschedulable"].get("message") or "the gang does not fit"
        new = {"status": "False", "reason": "Unschedulable", "message": message}
    else:
        return None
    found = (group.get("status") or {}).get("conditions") or ()
    old: Obj = next((each for each in found if each["type"] == _TYPE), {})
    if all(old.get(key) == value for key, value in new.items()):
        return None
    since = old.get("lastTransitionTime") if old.get("status") == new["status"] else now
    return {"type": _TYPE, **new, "lastTransitionTime": since}
