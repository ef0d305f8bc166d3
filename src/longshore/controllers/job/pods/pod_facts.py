"""Facts about one pod of a Job: its finalizer, index, restarts, and when it ended.

Plain questions to a pod's own fields. What they mean for a Job is decided elsewhere.
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
    """The completion index, or NO_INDEX when it has none that can be read."""
    found = pod_state.completion_index(pod)
    return NO_INDEX if found is None else found


def index_failures(pod: Obj) -> int:
    """How often the pod's index had failed before this pod."""
    return _count(pod, INDEX_FAILURES)


def index_ignored_failures(pod: Obj) -> int:
    """How often the pod's index had failed in ways the policy ignores."""
    return _count(pod, INDEX_IGNORED_FAILURES)


def _count(pod: Obj, annotation: str) -> int:
    number = indexes.integer((pod["metadata"].get("annotations") or {}).get(annotation) or "")
    return number if number is not None and 0 <= number <= _MAX_INT32 else 0


def restarts(pod: Obj) -> int:
    """Restarts of all containers, init containers included."""
    status = pod.get("status") or {}
    return sum(
        container.get("restartCount") or 0
        for kind in ("initContainerStatuses", "containerStatuses")
        for container in status.get(kind) or ()
    )


def sidecars(pod: Obj) -> frozenset[str]:
    """Names of the init containers that keep running beside the others."""
    return frozenset(
        container["name"]
        for container in pod["spec"].get("initContainers") or ()
        if container.get("restartPolicy") == "Always"
    )


def finish_time(pod: Obj) -> float:
    """When the pod ended, by the best witness there is: containers, readiness, deletion, creation."""
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


def _containers_finished(pod: Obj) -> float | None:
    """The last end of any container; None while one runs, or when nothing is known of any."""
    status = pod.get("status") or {}
    containers = list(status.get("containerStatuses") or ())
    if status.get("initContainerStatuses"):
        names = sidecars(pod)
        containers += [c for c in status["initContainerStatuses"] if c["name"] in names]
    latest: float | None = None
    for container in containers:
        ended = ((container.get("state") or {}).get("terminated") or {}).get("finishedAt")
        if not ended:
            return None
        at = rfc3339.seconds(ended)
        if latest is None or at > latest:
            latest = at
    return latest
