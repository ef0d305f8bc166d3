"""Handlers of changes to Jobs and pods: they add keys to queues and lower expectations.

Upstream syncs a Job one second after its pods changed, to batch changes. Here a Job is synced as soon as a
worker is free: under load changes batch by themselves, since a key is queued only once. Failures that happen
together are batched; over a network also successes that only change a count (batches.py). A pod that starts
or becomes ready only changes a number in the status, so its sync waits a second: most pods that end soon have
ended by then.

A change that a sync made itself causes no other sync: the sync knew it, and has queued what was left
(`Tracking.look_again`). The next sync begins only after such changes have arrived (`OwnWrites`), so they
cannot hide other changes.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, NamedTuple

from longshore.api.facts import job_state, pod_state
from longshore.api.facts.owners import controller_of
from longshore.api.time import rfc3339
from longshore.api.types import Obj
from longshore.controllers.job.memory import JobMemory
from longshore.controllers.job.metrics import JobMetrics
from longshore.controllers.job.pods import pod_facts
from longshore.controllers.job.waking import orphans, selector_index
from longshore.controllers.job.waking.batches import EndBatches, FailureBatches
from longshore.controllers.job.waking.orphans import Orphan
from longshore.controllers.job.waking.ownership import Ownership
from longshore.machinery.informers.cache import Cache, Key, key_of
from longshore.machinery.informers.informer import Handler
from longshore.machinery.queues.workqueue import WorkQueue

_UNHURRIED_SECONDS: Final = 1.0
"""Upstream's batch period."""


class Waking(NamedTuple):
    """The parts of the controller that both handlers need."""

    queue: WorkQueue[Key]
    orphan_queue: WorkQueue[Orphan]
    memory: JobMemory
    ownership: Ownership
    metrics: JobMetrics
    pods: Cache


class _Waker(Handler):
    def __init__(self, waking: Waking) -> None:
        self._queue, self._orphans, self._memory, self._ownership, self._metrics, self._pods = waking


class JobHandler(_Waker):
    """Handles changes of Jobs."""

    def __init__(self, waking: Waking, now: Callable[[], float]) -> None:
        super().__init__(waking)
        self._now = now

    def on_add(self, obj: Obj, initial: bool) -> None:
        self._queue.add(key_of(obj))
        if not self._ownership.ours(obj):
            self._metrics.external(self._ownership.manager(obj))

    def on_update(self, old: Obj, new: Obj) -> None:
        if job_state.has_ended(new):
            self._memory.job_ended(key_of(new), new["metadata"]["uid"])
            self._clear_away(new)
            return
        key = key_of(new)
        if old is not new and self._memory.own_writes.own(key, "jobs.batch", new):
            return  # it replaced exactly the version that the sync had read, so it hides no other change
        self._queue.add(key)
        start = (new.get("status") or {}).get("startTime")
        deadline = new["spec"].get("activeDeadlineSeconds")
        if start and deadline is not None and deadline != old["spec"].get("activeDeadlineSeconds"):
            self._queue.add_after(key, deadline - (self._now() - rfc3339.seconds(start)))

    def on_delete(self, obj: Obj, stale: bool) -> None:
        key = key_of(obj)
        self._queue.add(key)
        self._memory.job_ended(key, obj["metadata"]["uid"])
        self._clear_away(obj)

    def _clear_away(self, job: Obj) -> None:
        """Queues the pods of an ended Job, whose finalizers must be removed since the Job counts no more.
        Usually there are none, or the finalizer is already removed and only the cache still shows it."""
        if selector_index.selected_uid(job):
            gone = self._memory.going.uids(key_of(job))
            keys = (selector_index.owned_key(job), selector_index.orphans_key(job))
            pods = (pod for key in keys for pod in self._pods.by_index(selector_index.PODS_BY_JOB, key))
            if all(pod["metadata"]["uid"] in gone for pod in pods):
                return
        self._orphans.add(orphans.of_job(job))


class PodHandler(_Waker):
    """Handles changes of pods, and queues the Jobs that they concern."""

    def __init__(
        self, waking: Waking, failure_batches: FailureBatches, end_batches: EndBatches | None
    ) -> None:
        """Without `end_batches` each success is synced immediately."""
        super().__init__(waking)
        self._failure_batches, self._end_batches = failure_batches, end_batches

    def on_add(self, obj: Obj, initial: bool) -> None:
        """Pods in the initial list queue no Job, since all Jobs in the initial list are synced."""
        waits = pod_state.has_ended(obj) and pod_facts.tracked(obj)
        if waits:
            self._metrics.waits(True)
        if pod_facts.deleting(obj):
            self._created(obj)  # created and deleted between two watch events
            self._deleted(obj, final=False)
            return
        ref = controller_of(obj)
        if ref is None:
            self._unowned(obj)
        elif initial:
            if waits:
                self._orphans.add(orphans.of_pod(obj))  # its Job may have ended without it
        elif (job := self._job(obj, ref)) is not None:
            if self._comes_too_late(job, obj):
                return
            key = key_of(job)
            self._memory.expectations.creations_observed(key)
            if not self._memory.own_writes.own(key, "pods", obj):
                self._queue.add(key)

    def _created(self, pod: Obj) -> None:
        ref = controller_of(pod)
        job = None if ref is None else self._job(pod, ref)
        if job is not None:
            self._memory.expectations.creations_observed(key_of(job))

    def on_update(self, old: Obj, new: Obj) -> None:
        before, after = old["metadata"], new["metadata"]
        if before.get("resourceVersion") == after.get("resourceVersion"):
            return
        phase, tracked = pod_state.phase_of(new), pod_facts.tracked(new)
        waits = tracked and phase in pod_state.ENDED
        if waits != (pod_state.has_ended(old) and pod_facts.tracked(old)):
            self._metrics.waits(waits)
        if "deletionTimestamp" in after:
            self._deleted(new, final=False)
            return
        ref = controller_of(new)
        if ref is not None and before.get("ownerReferences") == after.get("ownerReferences"):
            self._still_owned(ref, old, new, phase, tracked)
            return
        old_ref = controller_of(old)
        moved = old_ref != ref
        if moved and old_ref is not None and (job := self._job(old, old_ref)) is not None:
            self._changed(job, new, tracked)
        if ref is not None:
            if (job := self._job(new, ref)) is not None:
                self._changed(job, new, tracked)
        elif moved or before.get("labels") != after.get("labels"):
            self._unowned(new)
        elif tracked:
            self._orphans.add(orphans.of_pod(new))

    def _still_owned(self, ref: Obj, old: Obj, new: Obj, phase: str, tracked: bool) -> None:
        """Handles a change of a pod whose owners are unchanged."""
        before, after = old["metadata"], new["metadata"]
        same_marks = before.get("labels") == after.get("labels")
        same_marks = same_marks and before.get("annotations") == after.get("annotations")
        runs = same_marks and tracked and phase not in pod_state.ENDED
        runs = runs and before.get("finalizers") == after.get("finalizers")
        if runs and not _fares(old, new):
            return
        job = self._job(new, ref)
        if job is None or self._comes_too_late(job, new):
            return
        key = key_of(job)
        if runs:
            self._queue.add_after(key, _UNHURRIED_SECONDS)
            return
        own = self._memory.own_writes.own(key, "pods", new)
        if not tracked:
            own = own or after["uid"] in self._memory.going.uids(key)  # event came before answer
            self._memory.going.observed(key, after["uid"])
        if phase == "Failed" != pod_state.phase_of(old) and self._has_others(job):
            self._failure_batches.failed(key)
        elif same_marks and own and old.get("status") == new.get("status"):
            return  # the sync took the finalizer, and nothing else happened to the pod
        elif phase == "Succeeded" != pod_state.phase_of(old) and same_marks and self._end_batches is not None:
            active = self._memory.rolls.active_count(key)
            self._queue.add_after(key, self._end_batches.wait(job, key, after["uid"], active))
            return
        self._queue.add(key)

    def on_delete(self, obj: Obj, stale: bool) -> None:
        if pod_state.has_ended(obj) and pod_facts.tracked(obj):
            self._metrics.waits(False)
        self._deleted(obj, final=True)

    def _deleted(self, pod: Obj, *, final: bool) -> None:
        """Handles a deleted pod. With `final` the pod is gone; otherwise it is terminating."""
        tracked = pod_facts.tracked(pod)
        ref = controller_of(pod)
        if ref is None and final:
            for adopter in self._ownership.selecting(pod):
                self._queue.add(key_of(adopter))  # it may have adopted the pod unseen
        job = None if ref is None else self._job(pod, ref)
        if job is None or job_state.has_ended(job):
            if tracked:
                self._orphans.add(orphans.of_pod(pod))
            return
        key = key_of(job)
        self._memory.expectations.deletions_observed(key)
        if final or not tracked:
            self._memory.going.observed(key, pod["metadata"]["uid"])
        self._queue.add(key)

    def _comes_too_late(self, job: Obj, pod: Obj) -> bool:
        """Queues the pod as orphan if its Job has ended and counts no more. A controller that started with an
        old list of pods may end a Job without having seen all of them."""
        if not job_state.has_ended(job) or not pod_facts.tracked(pod):
            return False
        self._orphans.add(orphans.of_pod(pod))
        return True

    def _changed(self, job: Obj, pod: Obj, tracked: bool) -> None:
        key = key_of(job)
        if not tracked:
            self._memory.going.observed(key, pod["metadata"]["uid"])
        self._queue.add(key)

    def _unowned(self, pod: Obj) -> None:
        if pod_facts.tracked(pod):
            self._orphans.add(orphans.of_pod(pod))
        for job in self._ownership.selecting(pod):
            self._queue.add(key_of(job))

    def _has_others(self, job: Obj) -> bool:
        return self._pods.index_size(selector_index.PODS_BY_JOB, selector_index.owned_key(job)) > 1

    def _job(self, pod: Obj, ref: Obj) -> Obj | None:
        return self._ownership.resolve(pod["metadata"]["namespace"], ref)


def _fares(old: Obj, new: Obj) -> bool:
    """Whether phase, readiness or restarts of a running pod changed; a Job needs nothing else of it."""
    return (
        pod_state.phase_of(old) != pod_state.phase_of(new)
        or pod_state.is_ready(old) != pod_state.is_ready(new)
        or pod_state.restarts(old) != pod_state.restarts(new)
    )
