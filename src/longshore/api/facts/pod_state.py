"""Facts about one pod: its phase, whether it has ended, whether it is ready, its index in a Job."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, Literal, NamedTuple, TypeAlias

from longshore.api import indexes
from longshore.api.facts import conditions, own_names
from longshore.api.time import rfc3339
from longshore.api.time.instants import SECOND
from longshore.api.types import Obj

ENDED: Final = frozenset(("Succeeded", "Failed"))
"""Phases that a pod never leaves again."""
COMPLETION_INDEX: Final = "batch.kubernetes.io/job-completion-index"
"""The annotation, and the label, with the index of a pod of an Indexed Job."""
Statuses: TypeAlias = Literal["initContainerStatuses", "containerStatuses", "ephemeralContainerStatuses"]
_INIT_AND_MAIN: Final[tuple[Statuses, ...]] = ("initContainerStatuses", "containerStatuses")
STATUS_FIELDS: Final = (
    *("status.phase", "status.reason", "status.message"),
    *(f"status.conditions.{name}" for name in ("type", "status", "lastTransitionTime")),
    *(
        f"status.{part}.{name}"
        for part in _INIT_AND_MAIN
        for name in (
            *("name", "ready", "restartCount"),
            *(f"state.terminated.{end}" for end in ("exitCode", "reason", "message", "finishedAt")),
        )
    ),
)
"""The fields of a status that say how a pod and its containers run, and how they ended."""
ALL_STATUSES: Final[tuple[Statuses, ...]] = (*_INIT_AND_MAIN, "ephemeralContainerStatuses")


def phase_of(pod: Obj) -> str:
    """The pod's phase; `Pending` if it has none, as in the API server."""
    return (pod.get("status") or {}).get("phase") or "Pending"


def has_ended(pod: Obj) -> bool:
    """Whether all containers have ended for good."""
    return (pod.get("status") or {}).get("phase") in ENDED


def is_ready(pod: Obj) -> bool:
    return conditions.is_true((pod.get("status") or {}).get("conditions") or (), "Ready")


def nodes_of(pod: Obj) -> Iterator[str]:
    """The pod's node, once it has one. An indexer for caches."""
    if name := pod["spec"].get("nodeName"):
        yield name


def completion_index(pod: Obj) -> int | None:
    """The index of a pod of an Indexed Job; None if it has none or an unreadable one."""
    annotations = pod["metadata"].get("annotations")
    if annotations is None or (text := annotations.get(COMPLETION_INDEX)) is None:
        return None
    found = indexes.integer(text)
    return found if found is not None and found >= 0 else None


def statuses_of(pod: Obj, *parts: Statuses) -> list[Obj]:
    """The statuses of the containers in `parts`; without `parts`, of init containers and then main ones."""
    status = pod.get("status") or {}
    return [each for part in parts or _INIT_AND_MAIN for each in status.get(part) or ()]


def restarts(pod: Obj) -> int:
    """Restarts of all containers, init containers included."""
    return sum(container.get("restartCount") or 0 for container in statuses_of(pod))


def main_end(pod: Obj) -> Obj:
    """The end of the pod's first container, from its status; empty if that is not known."""
    for each in statuses_of(pod, "containerStatuses"):
        ended: Obj = (each.get("state") or {}).get("terminated") or {}
        return ended
    return {}


def main_times(pod: Obj) -> tuple[float, float]:
    """Start and end of the pod's first container in seconds since 1970; 0 for an unknown time. They have
    milliseconds if the pod has the annotation EXACT_TIMES, else whole seconds."""
    exact = (pod["metadata"].get("annotations") or {}).get(own_names.EXACT_TIMES, "")
    ended = main_end(pod)
    begun, slash, over = exact.partition("/")
    if not slash:
        return rfc3339.seconds(ended.get("startedAt")), rfc3339.seconds(ended.get("finishedAt"))
    return rfc3339.parse(begun) / SECOND, rfc3339.parse(over) / SECOND


# ---- How a failed pod ended: the container whose end failed it, its exit code and its last words.


class End(NamedTuple):
    """The first container that failed. Unknown parts are empty."""

    container: str = ""
    code: int = 0
    reason: str = ""
    """`Error`, `OOMKilled`; or the pod's own reason, `Evicted`, if no container failed."""
    message: str = ""
    signal: int = 0
    """The signal that ended the container; 0 if it exited by itself."""


def end_of(pod: Obj) -> End:
    """The end of a pod, from its status."""
    status = pod.get("status") or {}
    for container in statuses_of(pod):
        ended = (container.get("state") or {}).get("terminated")
        if ended is not None and ended.get("exitCode"):
            reason, message = ended.get("reason") or "", ended.get("message") or ""
            return End(container["name"], ended["exitCode"], reason, message, ended.get("signal") or 0)
    return End(reason=status.get("reason") or "", message=status.get("message") or "")
