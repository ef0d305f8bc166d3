"""Which run of a container a request means, from the pod's status. Pure; refuses in a kubelet's words."""

from __future__ import annotations

from typing import Final

from longshore.api import errors
from longshore.api.types import Obj

_PARTS: Final = ("containerStatuses", "initContainerStatuses", "ephemeralContainerStatuses")
_WAITING: Final = {
    "ErrImagePull": "image can't be pulled",
    "ImagePullBackOff": "trying and failing to pull image",
}


def of_log(pod: Obj, container: str, *, previous: bool, running: int | None) -> int:
    """The attempt whose log is wanted. `running` is the attempt that runs now: the engine knows it before the
    status does."""
    name = pod["metadata"]["name"]
    what = f'container "{container}" in pod "{name}"'
    report = status_of(pod, container)
    if report is None and running is None:
        raise errors.bad_request(f"{what} is not available")
    now = (report or {}).get("state") or {}
    last = ((report or {}).get("lastState") or {}).get("terminated")
    count = int((report or {}).get("restartCount") or 0)
    if running is not None and (running > count or not now.keys() & {"running", "terminated"}):
        now, count = {"running": {}}, running
        last = {"containerID": "known"} if running else None
    if previous:
        if not last or not last.get("containerID"):
            raise errors.bad_request(f"previous terminated {what} not found")
        return count if "waiting" in now else count - 1
    if "running" in now:
        return count
    if "terminated" in now:
        if now["terminated"].get("containerID"):
            return count
        if last and last.get("containerID"):
            return count
        raise errors.bad_request(f"{what} is terminated")
    if last:
        if not last.get("containerID"):
            raise errors.bad_request(f"{what} is terminated")
        return count
    if "waiting" in now:
        reason = now["waiting"].get("reason", "")
        raise errors.bad_request(f"{what} is waiting to start: {_WAITING.get(reason, reason)}")
    raise errors.bad_request(f"{what} is waiting to start - no logs yet")


def status_of(pod: Obj, container: str) -> Obj | None:
    """The status of a container of any sort."""
    status = pod.get("status") or {}
    for part in _PARTS:
        for entry in status.get(part) or ():
            if entry["name"] == container:
                found: Obj = entry
                return found
    return None
