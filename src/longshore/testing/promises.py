"""Checks, over all objects, the promises that hold in every cluster at rest, and describes the broken ones.

Sees every change of Jobs and pods from the first moment on, so that it can check promises about the past: a
terminal condition never flips, and each finished pod is counted once.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from longshore.api.facts import job_state, owners, pod_state
from longshore.api.types import Obj
from longshore.store import Event, Store

TRACKING: Final = "batch.kubernetes.io/job-tracking"
_JOBS, _PODS = LEDGER_STORAGES = ("batch/jobs", "pods")


class Ledger:
    """Records all Jobs and pods that ever existed. `note` takes each change."""

    def __init__(self) -> None:
        self.ends: dict[str, str] = {}
        """The first terminal condition of each Job, by uid."""
        self.flips: list[str] = []
        self.pods: dict[str, dict[str, str]] = {}
        """The final phase of each pod, empty before its end, by the uid of its Job and its own uid."""

    def copy(self) -> Ledger:
        """An independent copy."""
        made = Ledger()
        made.ends, made.flips = dict(self.ends), [*self.flips]
        made.pods = {uid: dict(pods) for uid, pods in self.pods.items()}
        return made

    def note(self, event: Event) -> None:
        obj, meta = event.entry.obj, event.entry.obj["metadata"]
        if event.entry.key.storage == _JOBS:
            end = job_state.end_of(obj)
            before = self.ends.get(meta["uid"])
            now = end["type"] if end is not None else ""
            if before is None and now:
                self.ends[meta["uid"]] = now
            elif before is not None and now != before:
                self.flips.append(f"job/{meta['name']} was {before} and then {now or 'went on'}")
        elif (owner := owners.controller_of(obj)) is not None:
            pods = self.pods.setdefault(owner["uid"], {})
            if not pods.get(meta["uid"]):
                pods[meta["uid"]] = pod_state.phase_of(obj) if pod_state.has_ended(obj) else ""


def broken(store: Store, ledger: Ledger, *, collects_garbage: bool) -> list[str]:
    """All broken promises, a sentence each."""
    jobs = {entry.obj["metadata"]["uid"]: entry.obj for entry in store.list(_JOBS)}
    pods = [entry.obj for entry in store.list(_PODS)]
    found = [*ledger.flips]
    for uid, job in jobs.items():
        found += _counting(job, ledger.pods.get(uid, {}))
    if collects_garbage:
        found += _orphans(jobs, pods)
    for storage in store.counts():
        for entry in store.list(storage):
            found += _stuck(entry.key.storage, entry.obj)
    for pod in pods:
        meta = pod["metadata"]
        if TRACKING in (meta.get("finalizers") or ()) and pod_state.has_ended(pod) and _is_kept(pod, jobs):
            found.append(
                f"pod/{meta['name']} has ended and is not counted: it still has the finalizer {TRACKING}"
            )
    return found


def _is_kept(pod: Obj, jobs: dict[str, Obj]) -> bool:
    """Whether longshore's own controller manages the pod's Job."""
    owner = owners.controller_of(pod)
    job = jobs.get(owner["uid"]) if owner is not None else None
    return job is not None and not job["spec"].get("managedBy")


def _counting(job: Obj, pods: dict[str, str]) -> Iterator[str]:
    name, status = f"job/{job['metadata']['name']}", job.get("status") or {}
    if job["spec"].get("managedBy"):
        return
    succeeded = sum(phase == "Succeeded" for phase in pods.values())
    others = len(pods) - succeeded  # failed, or deleted before they ended
    uncounted = status.get("uncountedTerminatedPods") or {}
    for part in ("succeeded", "failed"):
        if waiting := uncounted.get(part):
            yield f"{name} has pods in uncountedTerminatedPods.{part}: {', '.join(waiting)}"
    is_indexed = job["spec"].get("completionMode") == "Indexed"
    counted = status.get("succeeded", 0)
    if counted > succeeded:
        yield f"{name} counts {counted} succeeded pods, and only {succeeded} ended well"
    elif counted < succeeded and not is_indexed and not uncounted.get("succeeded"):
        yield f"{name} counts {counted} succeeded pods, and {succeeded} ended well"
    if status.get("failed", 0) > others:
        yield f"{name} counts {status['failed']} failed pods, and only {others} did not end well"


def _orphans(jobs: dict[str, Obj], pods: list[Obj]) -> Iterator[str]:
    for pod in pods:
        owner = owners.controller_of(pod)
        if owner is not None and owner["apiVersion"] == "batch/v1" and owner["uid"] not in jobs:
            yield f"pod/{pod['metadata']['name']} is an orphan: its Job {owner['name']} is gone"


def _stuck(storage: str, obj: Obj) -> Iterator[str]:
    meta = obj["metadata"]
    runs = storage == _PODS and not pod_state.has_ended(obj)  # in its grace period
    if "deletionTimestamp" in meta and not runs and (held := meta.get("finalizers")):
        yield f"{storage}/{meta['name']} is being deleted and held by {', '.join(held)}"
