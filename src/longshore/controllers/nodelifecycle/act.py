"""Writes conditions and taints of nodes, marks pods as not ready, and evicts pods."""

from __future__ import annotations

from longshore.api import errors
from longshore.api.facts import conditions, kinds
from longshore.api.types import Obj
from longshore.client import Client, DeleteOptions, PatchType
from longshore.controllers.nodelifecycle.decide import NodePlan


async def write_node(client: Client, plan: NodePlan) -> None:
    """Writes conditions and taints. Raises a 409 if the node has changed since it was read."""
    node = plan.node
    if plan.conditions is not None:
        status = {**(node.get("status") or {}), "conditions": plan.conditions}
        node = await client.update_status(kinds.NODES, {**node, "status": status})
    if plan.taints is not None:
        meta = node["metadata"]
        version = {"uid": meta["uid"], "resourceVersion": meta["resourceVersion"]}
        patch = {"metadata": version, "spec": {"taints": plan.taints or None}}
        await client.patch(kinds.NODES, meta["name"], patch)


async def mark_unready(client: Client, pod: Obj, now: str) -> None:
    """Sets the pod's Ready condition to False, since its node is silent. `now` is RFC 3339."""
    known = conditions.find(pod, "Ready")
    assert known is not None, "a pod that is ready has the condition"
    await _patch_condition(client, pod, {**known, "status": "False", "lastTransitionTime": now})


async def evict(client: Client, pod: Obj, now: str) -> None:
    """Sets DisruptionTarget, then deletes the pod with its own grace period. `now` is RFC 3339."""
    before = conditions.find(pod, "DisruptionTarget")
    condition = {
        "type": "DisruptionTarget",
        "status": "True",
        "reason": "DeletionByTaintManager",
        "message": "Taint manager: deleting due to NoExecute taint",
        "lastTransitionTime": before["lastTransitionTime"] if before and before["status"] == "True" else now,
    }
    meta = pod["metadata"]
    with errors.tolerated(404, 409):
        await _patch_condition(client, pod, condition)
        await client.delete(kinds.PODS, meta["name"], meta["namespace"], DeleteOptions(uid=meta["uid"]))


async def _patch_condition(client: Client, pod: Obj, condition: Obj) -> None:
    meta = pod["metadata"]
    patch = {"metadata": {"uid": meta["uid"]}, "status": {"conditions": [condition]}}
    await client.patch(
        kinds.PODS, meta["name"], patch, meta["namespace"], type=PatchType.STRATEGIC, subresource="status"
    )
