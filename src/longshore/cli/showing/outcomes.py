"""How Jobs, pods and Volcano Jobs ended."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from longshore.api.facts import job_state, pod_state

if TYPE_CHECKING:
    from longshore.api.types import Obj

KINDS: Final = {("batch", "Job"), ("", "Pod"), ("batch.volcano.sh", "Job")}
"""Groups and kinds of objects that end."""

_VOLCANO: Final = {"Completed": True, "Failed": False, "Aborted": False, "Terminated": False}


class End(NamedTuple):
    well: bool
    reason: str = ""
    message: str = ""

    @property
    def text(self) -> str:
        """`complete`, or `failed: BackoffLimitExceeded: …`."""
        word = "complete" if self.well else "failed"
        return ": ".join(part for part in (word, *(() if self.well else (self.reason, self.message))) if part)


def of(group: str, obj: Obj) -> End | None:
    """The object's end; None while it has not ended. `group` distinguishes Volcano's Jobs from others."""
    status = obj.get("status") or {}
    if group == "batch.volcano.sh":
        state = status.get("state") or {}
        phase = state.get("phase", "")
        if phase not in _VOLCANO:
            return None
        return End(_VOLCANO[phase], state.get("reason") or phase, state.get("message", ""))
    if group == "batch":
        end = job_state.end_of(obj)
        if end is None:
            return None
        return End(end["type"] == "Complete", end.get("reason", ""), end.get("message", ""))
    phase = status.get("phase")
    if phase not in pod_state.ENDED:
        return None
    return End(phase == "Succeeded", status.get("reason", "") or _exit(obj), status.get("message", ""))


def _exit(pod: Obj) -> str:
    """The reason of a pod's failure, from its containers, for a pod whose status has no reason."""
    end = pod_state.end_of(pod)
    return f"container {end.container} ended with exit code {end.code}" if end.container else ""
