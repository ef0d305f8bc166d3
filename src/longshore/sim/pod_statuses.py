"""The statuses that a simulated node reports of a pod, as a kubelet words them. Pure."""

from __future__ import annotations

from typing import Any

from longshore.api.types import Obj

_EVICTED = {
    "type": "DisruptionTarget",
    "status": "True",
    "reason": "TerminationByKubelet",
    "message": "The pod was evicted in the simulation",
}


def running(pod: Obj, at: str, restarts: int) -> Obj:
    """All containers run and are ready."""
    return _status(pod, "Running", at, {"running": {"startedAt": at}}, restarts, ready=True)


def waiting(pod: Obj, at: str, reason: str, message: str, restarts: int) -> Obj:
    """The containers cannot start, or wait before they start again."""
    phase = "Running" if restarts else "Pending"
    return _status(pod, phase, at, {"waiting": {"reason": reason, "message": message}}, restarts)


def ended(pod: Obj, began: str, at: str, code: int, reason: str, restarts: int, signal: int = 0) -> Obj:
    """The first container ended with this code, the others with 0."""
    end: Obj = {"exitCode": code, "startedAt": began, "finishedAt": at, "reason": reason}
    if signal:
        end["signal"] = signal
    phase = "Failed" if code else "Succeeded"
    well: Obj = {"exitCode": 0, "startedAt": began, "finishedAt": at, "reason": "Completed"}
    status = _status(pod, phase, at, {"terminated": end}, restarts)
    for container in status["containerStatuses"][1:]:
        container["state"] = {"terminated": well}
    return status


def evicted(pod: Obj, began: str, at: str, restarts: int) -> Obj:
    """The pod was stopped by its node, or went down with it."""
    status = ended(pod, began, at, 137, "Error", restarts)
    status["conditions"].append({**_EVICTED, "lastTransitionTime": at})
    return {**status, "reason": "Evicted", "message": _EVICTED["message"]}


def _status(pod: Obj, phase: str, at: str, state: Obj, restarts: int, *, ready: bool = False) -> Obj:
    truth = "True" if ready else "False"
    before = pod.get("status") or {}
    kept: list[Any] = [
        each for each in before.get("conditions") or () if each["type"] not in ("Ready", "ContainersReady")
    ]
    kept += [
        {"type": kind, "status": truth, "lastTransitionTime": at} for kind in ("ContainersReady", "Ready")
    ]
    containers = [
        {
            "name": each["name"],
            "image": each.get("image") or "",
            "imageID": "",
            "ready": ready,
            "started": ready,
            "restartCount": restarts,
            "state": state,
        }
        for each in pod["spec"]["containers"]
    ]
    started = before.get("startTime") or at
    return {"phase": phase, "startTime": started, "conditions": kept, "containerStatuses": containers}
