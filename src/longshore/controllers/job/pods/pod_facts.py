"""Facts about one pod of a Job: its finalizer, index, failure counts, and when it ended.

Reads the pod's own fields. What they mean for the Job is decided elsewhere.
"""

from __future__ import annotations

from typing import Final

from longshore.api import indexes
from longshore.api.facts import conditions, pod_state
from longshore.api.time import rfc3339
from longshore.api.types import Obj
from longshore.controllers.job.spec import FINALIZER, INDEX_FAILURES, INDEX_IGNORED_FAILURES

NO_INDEX: Final = -1
_MAX_INT32: Final = 2**31 - 1


def deleting(pod: Obj) -> bool:
    return "deletionTimestamp" in pod["metadata"]


def tracked(pod: Obj) -> bool:
    """Whether the pod still has the finalizer that keeps it until it is counted."""
    return FINALIZER in (pod["metadata"].get("finalizers") or ())


def index(pod: Obj) -> int:
    """Returns the completion index; NO_INDEX if it is missing or cannot be parsed."""
    found = pod_state.completion_index(pod)
    return NO_INDEX if found is None else found


def index_failures(pod: Obj) -> int:
    """Returns how often the pod's index failed before this pod."""
    return _count(pod, INDEX_FAILURES)


def index_ignored_failures(pod: Obj) -> int:
    """Returns how often the pod's index failed in ways that the podFailurePolicy ignores."""
    return _count(pod, INDEX_IGNORED_FAILURES)


def _count(pod: Obj, annotation: str) -> int:
    number = indexes.integer((pod["metadata"].get("annotations") or {}).get(annotation) or "")
    return number if number is not None and 0 <= number <= _MAX_INT32 else 0


def sidecars(pod: Obj) -> frozenset[str]:
    """Returns the names of the init containers that have restartPolicy Always."""
    return frozenset(
        container["name"]
        for container in pod["spec"].get("initContainers") or ()
        if container.get("restartPolicy") == "Always"
    )


def finish_time(pod: Obj) -> float:
    """Returns when the pod ended, by the first known of: containers, Ready condition, deletion, creation."""
    ended = _containers_finished(pod)
    if ended is not None:
        return ended
    unready = conditions.find(pod, "Ready")
    if unready is not None and unready.get("status") == "False" and unready.get("lastTransitionTime"):
        return rfc3339.seconds(unready["lastTransitionTime"])
    meta = pod["metadata"]
    if "deletionTimestamp" in meta:
        return rfc3339.seconds(meta["deletionTimestamp"]) - (meta.get("deletionGracePeriodSeconds") or 0)
    return rfc3339.seconds(meta.get("creationTimestamp"))


def lasting(pod: Obj) -> tuple[list[Obj], list[Obj]]:
    """Returns the statuses of regular containers, and those of sidecars."""
    status = pod.get("status") or {}
    regular, inits = status.get("containerStatuses") or [], status.get("initContainerStatuses") or []
    names = sidecars(pod) if inits else ()
    return regular, [each for each in inits if each["name"] in names]


def _containers_finished(pod: Obj) -> float | None:
    """Returns when the last container ended; None while one runs, or without container statuses."""
    latest: float | None = None
    for container in (status for statuses in lasting(pod) for status in statuses):
        ended = ((container.get("state") or {}).get("terminated") or {}).get("finishedAt")
        if not ended:
            return None
        at = rfc3339.seconds(ended)
        if latest is None or at > latest:
            latest = at
    return latest
