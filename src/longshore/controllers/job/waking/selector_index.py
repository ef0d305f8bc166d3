"""Indexes that find the pods of a Job, and the Jobs that select a pod, without scanning a namespace.

A Job made without `manualSelector` selects pods by its own UID in a label, so its pods and orphans are
indexed by that UID. Only other selectors need a scan of the namespace.

Pods that have ended and were counted are not indexed, since nothing depends on them. Failed ones are the
exception: a FailJob rule may match them, so they have a key of their own. So the cost of a Job's first sync
does not depend on the number of ended pods; later syncs read only changed pods (rolls.py).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from longshore.api.facts import pod_state
from longshore.api.facts.owners import controller_of, owner_key
from longshore.api.selectors import labels
from longshore.api.types import Obj
from longshore.controllers.job.pods import pod_facts

PODS_BY_JOB: Final = "job"
JOBS_BY_SELECTOR: Final = "selector"
_UID: Final = "batch.kubernetes.io/controller-uid"


def pods_by_job(pod: Obj) -> tuple[str, ...]:
    """Indexes an uncounted pod by its Job, and an orphan by its namespace and by the UID in its label."""
    meta = pod["metadata"]
    ref = controller_of(pod)
    if ref is None:
        namespace = meta["namespace"]
        uid = (meta.get("labels") or {}).get(_UID)
        return (_orphans(namespace, ""), _orphans(namespace, uid)) if uid else (_orphans(namespace, ""),)
    if ref["kind"] != "Job":
        return ()
    name, uid = ref["name"], ref["uid"]
    phase = pod_state.phase_of(pod)
    if (
        phase not in pod_state.ENDED
        or pod_facts.tracked(pod)
        or not _labelled(meta.get("labels") or {}, name, uid)
    ):
        return (owner_key(meta["namespace"], "Job", name, uid),)
    return (_counted(owner_key(meta["namespace"], "Job", name, uid)),) if phase == "Failed" else ()


def _labelled(has: Mapping[str, str], name: str, uid: str) -> bool:
    """Whether these labels match every selector that the API server may have generated for the Job."""
    get = has.get
    return (
        get(_UID) == uid
        and get("controller-uid") == uid
        and get("batch.kubernetes.io/job-name") == name
        and get("job-name") == name
    )


def jobs_by_selector(job: Obj) -> tuple[str]:
    """Indexes a Job by its namespace and, if its selector requires one, the UID label of its pods."""
    return (f"{job['metadata']['namespace']}/{selected_uid(job)}",)


def selecting_keys(pod: Obj) -> tuple[str, ...]:
    """Returns the keys of `jobs_by_selector` that hold all Jobs which may select this pod."""
    meta = pod["metadata"]
    uid = (meta.get("labels") or {}).get(_UID)
    anyone = f"{meta['namespace']}/"
    return (anyone, anyone + uid) if uid else (anyone,)


def owned_key(job: Obj) -> str:
    """Returns the key of `pods_by_job` for the Job's own pods that are not counted yet."""
    meta = job["metadata"]
    return owner_key(meta["namespace"], "Job", meta["name"], meta["uid"])


def counted_failures_key(job: Obj) -> str:
    """Returns the key of `pods_by_job` for the Job's failed pods that were counted."""
    return _counted(owned_key(job))


def orphans_key(job: Obj) -> str:
    """Returns the key of `pods_by_job` that holds all orphans which the Job may select."""
    return _orphans(job["metadata"]["namespace"], selected_uid(job))


def selected_uid(job: Obj) -> str:
    """Returns the UID that the selector requires; empty if it selects by something else."""
    uid: str = ((job["spec"].get("selector") or {}).get("matchLabels") or {}).get(_UID) or ""
    return uid


def matcher(job: Obj) -> Callable[[Mapping[str, str]], bool]:
    """Returns a function that says whether the Job's selector matches labels."""
    asked: Obj | None = job["spec"].get("selector")
    if asked is not None and len(asked) == 1 and len(asked.get("matchLabels") or ()) == 1:
        ((key, value),) = asked["matchLabels"].items()  # as generated: nothing to compile
        return lambda has: has.get(key) == value
    return labels.from_selector(asked).matches


def _orphans(namespace: str, uid: str) -> str:
    return f"{namespace}/{uid}"


def _counted(key: str) -> str:
    return f"failed {key}"
