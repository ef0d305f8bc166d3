"""How a failed pod ended: the container whose end failed it, its exit code and its last words."""

from __future__ import annotations

from typing import Final, NamedTuple

from longshore.api.types import Obj

_STATUSES: Final = ("initContainerStatuses", "containerStatuses")


class End(NamedTuple):
    """The first container that ended badly. Empty parts are not known."""

    container: str = ""
    code: int = 0
    reason: str = ""
    """`Error`, `OOMKilled`; or the pod's own reason, `Evicted`, if no container ended badly."""
    message: str = ""


def of(pod: Obj) -> End:
    """The end of a pod, as its status tells it."""
    status = pod.get("status") or {}
    for kind in _STATUSES:
        for container in status.get(kind) or ():
            ended = (container.get("state") or {}).get("terminated")
            if ended is not None and ended.get("exitCode"):
                reason, message = ended.get("reason") or "", ended.get("message") or ""
                return End(container["name"], ended["exitCode"], reason, message)
    return End(reason=status.get("reason") or "", message=status.get("message") or "")
