"""The loop of the Job controller: which Job to sync and when, and whether this controller manages it."""

from __future__ import annotations

import asyncio
from typing import Final

from longshore.api.facts import job_state, kinds, pod_state
from longshore.api.time.backoff import Doubling
from longshore.client.projection import WRITABLE, Projection
from longshore.controllers.job.memory import JobMemory
from longshore.controllers.job.metrics import JobMetrics
from longshore.controllers.job.spec import RESERVED_MANAGER
from longshore.controllers.job.sync import JobTools, Sync
from longshore.controllers.job.waking import selector_index, unanswered_creates
from longshore.controllers.job.waking.batches import EndBatches, FailureBatches
from longshore.controllers.job.waking.handlers import JobHandler, PodHandler, Waking
from longshore.controllers.job.waking.meeting_selectors import MeetingSelectors
from longshore.controllers.job.waking.orphans import Orphan, Orphans
from longshore.controllers.job.waking.ownership import Ownership
from longshore.machinery.controller_context import ControllerContext
from longshore.machinery.events.recorder import reference
from longshore.machinery.informers.cache import Key
from longshore.machinery.queues.workers import run_workers
from longshore.machinery.queues.workqueue import WorkQueue
from longshore.machinery.writes.own_writes import StaleCache

_RETRIES: Final = Doubling(1.0, 60.0)
"""Delays after an API error, doubling from 1 s to 60 s, as upstream."""
READS: Final = {
    kinds.JOBS: WRITABLE,
    kinds.PODS: Projection(
        *(f"metadata.{name}" for name in ("annotations", "creationTimestamp", "labels")),
        *("metadata.deletionGracePeriodSeconds", "spec.nodeName"),
        *(f"spec.initContainers.{name}" for name in ("name", "restartPolicy")),
        *pod_state.STATUS_FIELDS,
    ),
}
"""All that is read of Jobs and pods, by kind."""
_MODES: Final = (None, "NonIndexed", "Indexed")


async def run(
    context: ControllerContext,
    *,
    managed_by: str = RESERVED_MANAGER,
    namespace: str = "",
    gathers_ends: bool = False,
) -> None:
    """Syncs Jobs until cancelled.

    `managed_by` selects the Jobs whose spec.managedBy has this value; Kubernetes' own name also selects Jobs
    without that field. An empty `namespace` means all. `gathers_ends` counts successes in batches, once a
    second."""
    await JobController(context, managed_by, namespace, gathers_ends=gathers_ends).run()


class JobController:
    """Wires informers, queues and handlers together. Takes the arguments of `run`."""

    def __init__(
        self, context: ControllerContext, managed_by: str, namespace: str, *, gathers_ends: bool = False
    ) -> None:
        client, clock, informers = context.client, context.clock, context.informers
        self._informers = informers
        self._jobs = informers.get(kinds.JOBS, namespace=namespace, reads=READS[kinds.JOBS])
        self._jobs.cache.add_index(selector_index.JOBS_BY_SELECTOR, selector_index.jobs_by_selector)
        self._pods = informers.get(kinds.PODS, namespace=namespace, reads=READS[kinds.PODS])
        self._pods.cache.add_index(selector_index.PODS_BY_JOB, selector_index.pods_by_job)
        self._recorder = context.recorder("job-controller")
        self._queue: WorkQueue[Key] = context.queue("job", pauses=_RETRIES)
        self._orphan_queue: WorkQueue[Orphan] = context.queue("job_orphan_pod", pauses=_RETRIES)
        self._memory = JobMemory(clock, self._jobs.cache, self._pods.cache)
        self._metrics = JobMetrics(context.registry)
        self._ownership = Ownership(self._jobs.cache, managed_by)
        self._orphans = Orphans(client, self._pods.cache, self._ownership)
        self._workers = context.workers
        self._tools = JobTools(
            client,
            clock,
            self._pods.cache,
            self._memory,
            self._queue,
            self._recorder,
            self._metrics,
            context.explanations,
        )
        self._failure_batches = FailureBatches(clock, self._queue)
        waking = Waking(
            self._queue, self._orphan_queue, self._memory, self._ownership, self._metrics, self._pods.cache
        )
        self._jobs.add_handler(JobHandler(waking, self._tools.now))
        self._jobs.add_handler(MeetingSelectors(self._jobs.cache, self._recorder))
        self._pods.add_handler(self._memory.rolls)
        end_batches = EndBatches(clock) if gathers_ends else None
        self._pods.add_handler(PodHandler(waking, self._failure_batches, end_batches))

    async def run(self) -> None:
        """Syncs Jobs until cancelled. Decides nothing before both caches are complete."""
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self._recorder.run())
            tasks.create_task(self._informers.run())
            await self._informers.synced()
            tasks.create_task(run_workers(self._queue, self.sync, count=self._workers))
            tasks.create_task(run_workers(self._orphan_queue, self._orphans.sync, count=self._workers))

    async def sync(self, key: Key) -> None:
        """Syncs one Job, if it exists, is managed here and has not ended. Raises to be called again."""
        await self._caught_up(key)
        if self._failure_batches.holds(key):
            return
        job = self._jobs.cache.get(*key)
        if job is None:
            self._memory.job_gone(key)
            return
        uid = job["metadata"]["uid"]
        if not self._ownership.ours(job):
            return
        if job_state.has_ended(job):
            self._memory.job_ended(key, uid)
            return
        if uid in self._memory.finished:
            return
        if job["spec"].get("completionMode") not in _MODES:
            self._recorder.announce(reference(job, kinds.JOBS), "UnknownCompletionMode")
            return
        self._memory.look_at(key, uid)
        if key in self._memory.unanswered:
            await unanswered_creates.wait_for_pods(
                self._tools.client, self._tools.clock, job, self._pods.cache
            )
            self._memory.unanswered.discard(key)
        await Sync(self._tools, key, job).run()

    async def _caught_up(self, key: Key) -> None:
        """Waits, usually for a moment, until the caches show this controller's own writes."""
        try:
            await self._memory.own_writes.wait(key)
        except StaleCache as err:
            self._metrics.stale(err.resource)
            raise
