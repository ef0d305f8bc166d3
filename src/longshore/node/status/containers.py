"""`containerStatuses`: the state of each container, the one before, and whether it is ready."""

from __future__ import annotations

from typing import Final

from longshore.api.time import rfc3339
from longshore.api.types import Obj
from longshore.node.pod.memory import ContainerMemory, PodMemory
from longshore.node.runtime import ContainerState

UNKNOWN_REASON: Final = "ContainerStatusUnknown"
UNKNOWN_MESSAGE: Final = "The container could not be located when the pod was terminated"
UNKNOWN_CODE: Final = 137
_UNKNOWN: Final[Obj] = {
    "exitCode": UNKNOWN_CODE,
    "reason": UNKNOWN_REASON,
    "message": UNKNOWN_MESSAGE,
    "startedAt": None,
    "finishedAt": None,
}
_NONE: Final[Obj] = {}


def terminated(state: ContainerState, runtime: str, message: str = "") -> Obj:
    """`state.terminated` of a run that is over."""
    if state.phase == "lost":
        ended = {**_UNKNOWN, "message": state.message or UNKNOWN_MESSAGE}
        if state.started_at:
            ended["startedAt"] = rfc3339.from_seconds(state.started_at)
    else:
        ended = {"exitCode": state.exit_code}
        if state.signal:
            ended["signal"] = state.signal
        ended["reason"] = state.reason or ("Error" if state.exit_code else "Completed")
        if text := message or state.message:
            ended["message"] = text
        ended["startedAt"] = rfc3339.from_seconds(state.started_at)
        ended["finishedAt"] = rfc3339.from_seconds(state.finished_at)
    if state.id:
        ended["containerID"] = f"{runtime}://{state.id}"
    return ended


def container_status(memory: PodMemory, record: ContainerMemory, runtime: str, *, final: bool) -> Obj:
    """The status of one container; `final` if nothing of the pod runs or will run again."""
    spec, state = record.facts.spec, record.state
    now: Obj
    last: Obj = _NONE
    if state is None:
        now, last = _not_running(memory, record, final), _terminated(record.last)
    elif state.phase == "running":
        now, last = (
            {"running": {"startedAt": rfc3339.from_seconds(state.started_at)}},
            _terminated(record.last),
        )
    elif record.waiting is not None and not final:
        now, last = _waiting(record.waiting.reason, record.waiting.message), _terminated(record.ended)
    else:
        now, last = _terminated(record.ended), _terminated(record.last)
    running = state is not None and state.phase == "running"
    made: Obj = {
        "name": spec["name"],
        "state": now,
        "lastState": last,
        "ready": _ready(record),
        "restartCount": record.attempt,
        "image": spec.get("image") or "",
        "imageID": "",
    }
    if state is not None and state.id:
        made["containerID"] = f"{runtime}://{state.id}"
    if not record.facts.is_ephemeral:
        made["started"] = running and record.started
    resources = spec.get("resources")
    if resources:
        if requests := resources.get("requests"):
            made["allocatedResources"] = requests
        made["resources"] = resources
    if mounts := spec.get("volumeMounts"):
        made["volumeMounts"] = [_mount(mount) for mount in mounts]
    return made


def _ready(record: ContainerMemory) -> bool:
    """Whether a container is ready: init containers once they have succeeded, ephemeral ones never."""
    if record.facts.is_ephemeral:
        return False
    if record.facts.is_init and not record.facts.is_sidecar:
        return record.over and record.code == 0
    return record.ready and record.running


def _not_running(memory: PodMemory, record: ContainerMemory, final: bool) -> Obj:
    waiting = record.waiting
    if final and waiting is None and (not memory.inits or memory.initialized):
        return {"terminated": _UNKNOWN}
    if waiting is not None:
        return _waiting(waiting.reason, waiting.message)
    reason = "PodInitializing" if memory.inits else "ContainerCreating"
    return _waiting(reason, memory.unprepared.message if memory.unprepared else "")


def _waiting(reason: str, message: str) -> Obj:
    return {"waiting": {"reason": reason, "message": message} if message else {"reason": reason}}


def _terminated(ended: Obj | None) -> Obj:
    return {"terminated": ended} if ended is not None else {}


def _mount(mount: Obj) -> Obj:
    shown: Obj = {"name": mount["name"], "mountPath": mount["mountPath"]}
    if mount.get("readOnly"):
        shown |= {"readOnly": True, "recursiveReadOnly": "Disabled"}
    return shown
