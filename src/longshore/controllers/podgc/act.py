"""Deletes a pod by force. Marks it as failed first, so that its controller sees how it ended."""

from __future__ import annotations

from longshore.api import errors
from longshore.api.facts import conditions, kinds, pod_state
from longshore.api.types import Obj
from longshore.client import Client, DeleteOptions, PatchType
from longshore.controllers.podgc.decide import Cause, Removal


async def act(client: Client, removal: Removal, now: str) -> None:
    """Removes one pod. Does nothing if it is gone already. `now` is RFC 3339."""
    meta = removal.pod["metadata"]
    name, namespace = meta["name"], meta["namespace"]
    with errors.tolerated(404):
        pod = await client.get(kinds.PODS, name, namespace)
        if pod["metadata"]["uid"] != meta["uid"]:
            return
        patch = failed(pod, removal.cause, now)
        if patch is not None:
            await client.patch(
                kinds.PODS, name, patch, namespace, type=PatchType.STRATEGIC, subresource="status"
            )
        options = DeleteOptions(grace_period_seconds=0, uid=meta["uid"])
        await client.delete(kinds.PODS, name, namespace, options)


def failed(pod: Obj, cause: Cause, now: str) -> Obj | None:
    """Returns the status patch that marks the pod as failed; None if it ended by itself."""
    current = pod.get("status") or {}
    if pod_state.has_ended(pod):
        return None
    status: Obj = {"phase": "Failed"}
    generation = pod["metadata"].get("generation")
    if generation:
        status["observedGeneration"] = generation
    if cause is Cause.ORPHANED:
        status["conditions"] = [_disrupted(current.get("conditions") or (), generation, now)]
    return {"metadata": {"uid": pod["metadata"]["uid"]}, "status": status}


def _disrupted(known: list[Obj] | tuple[()], generation: int | None, now: str) -> Obj:
    condition: Obj = {"type": "DisruptionTarget", "status": "True"}
    if generation:
        condition["observedGeneration"] = generation
    before = conditions.among(known, "DisruptionTarget")
    since = before.get("lastTransitionTime") if before and before["status"] == "True" else None
    return {
        **condition,
        "lastTransitionTime": since or now,
        "reason": "DeletionByPodGC",
        "message": "PodGC: node no longer exists",
    }
