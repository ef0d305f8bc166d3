"""The loop of the TTL controller. Waits for Jobs to be due, reads each once more, and deletes it."""

from __future__ import annotations

import asyncio
import logging
import random
from typing import Final

from longshore.api.errors import StatusError
from longshore.api.facts import kinds
from longshore.api.types import Obj
from longshore.client import Client, DeleteOptions
from longshore.controllers.ttl import decide as deciding
from longshore.controllers.ttl.decide import Plan, decide
from longshore.machinery.events.recorder import Recorder, reference
from longshore.machinery.informers.cache import Key, key_of
from longshore.machinery.informers.informer import Handler, Informer
from longshore.machinery.informers.shared import Informers
from longshore.machinery.metrics import QueueMetrics, Registry, exponential_buckets
from longshore.machinery.queues.workers import run_workers
from longshore.machinery.queues.workqueue import WorkQueue
from longshore.machinery.time.clock import Clock

COMPONENT: Final = "ttl-after-finished-controller"
WORKERS: Final = 5
_QUEUE: Final = "ttl_jobs_to_delete"
_METRIC: Final = "ttl_after_finished_controller_job_deletion_duration_seconds"
_METRIC_HELP: Final = "The time it took to delete the job since it became eligible for deletion"
_CLOCK_CHECK_SECONDS: Final = 30.0
_CLOCK_JUMP_SECONDS: Final = 1.0

log = logging.getLogger(__name__)


async def run(
    client: Client,
    *,
    clock: Clock,
    rng: random.Random,
    informers: Informers | None = None,
    namespace: str = "",
    registry: Registry | None = None,
) -> None:
    """Deletes Jobs that are due until cancelled, those of one namespace or all."""
    informers = informers or Informers(client, clock=clock, rng=rng)
    recorder = Recorder(client, COMPONENT, clock=clock, rng=rng)
    jobs = informers.get(kinds.JOBS, namespace=namespace, transform=slim)
    controller = TtlController(client, jobs, recorder, clock=clock, registry=registry or Registry())
    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(recorder.run())
        tasks.create_task(jobs.run())
        tasks.create_task(controller.run())


def slim(job: Obj) -> Obj:
    """What a decision needs of a Job; the cache keeps no more."""
    meta, spec = job["metadata"], job.get("spec") or {}
    kept = {key: meta[key] for key in _META if key in meta}
    if annotations := meta.get("annotations"):
        kept["annotations"] = {key: annotations[key] for key in _ANNOTATIONS if key in annotations}
    found: Obj = {"metadata": kept, "spec": {key: spec[key] for key in _SPEC if key in spec}}
    if conditions := (job.get("status") or {}).get("conditions"):
        found["status"] = {"conditions": conditions}
    return found


_META: Final = ("name", "namespace", "uid", "resourceVersion", "deletionTimestamp")
_SPEC: Final = ("ttlSecondsAfterFinished",)
_ANNOTATIONS: Final = tuple(deciding.TTL_AFTER.values())


class TtlController(Handler):
    def __init__(
        self, client: Client, jobs: Informer, recorder: Recorder, *, clock: Clock, registry: Registry
    ) -> None:
        self._client, self._jobs, self._recorder, self._clock = client, jobs, recorder, clock
        self._queue: WorkQueue[Key] = WorkQueue(clock, gauges=QueueMetrics(registry, _QUEUE, clock))
        self._late = registry.histogram(_METRIC, _METRIC_HELP, (), exponential_buckets(0.1, 2, 14))
        jobs.add_handler(self)

    def on_add(self, obj: Obj, initial: bool) -> None:
        if deciding.wanted(obj):
            self._queue.add(key_of(obj))

    def on_update(self, old: Obj, new: Obj) -> None:
        self.on_add(new, False)

    async def run(self) -> None:
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(run_workers(self._queue, self._sync, count=WORKERS))
            tasks.create_task(self._watch_the_clock())

    async def _sync(self, key: Key) -> float | None:
        """Looks at the cached Job, and if it is due, once more at the real one."""
        job = self._jobs.cache.get(*key)
        if job is None:
            return None
        plan = self._decide(job)
        if plan.problem:
            self._recorder.event(reference(job, kinds.JOBS), "Warning", "InvalidTTL", plan.problem)
        if not plan.delete:
            return plan.look_again
        namespace, name = key
        try:
            job = await self._client.get(kinds.JOBS, name, namespace)
            plan = self._decide(job)
            if not plan.delete:
                return plan.look_again
            options = DeleteOptions(propagation="Foreground", uid=job["metadata"]["uid"])
            await self._client.delete(kinds.JOBS, name, namespace, options)
        except StatusError as err:
            if err.code != 404:
                raise
            return None
        self._late.observe(plan.late)
        return None

    def _decide(self, job: Obj) -> Plan:
        plan = decide(job, self._clock.now())
        name = "/".join(key_of(job))
        log.debug("job %s: %s", name, plan.why)
        if plan.skew:
            log.warning("job %s finished in the future; the clocks of this cluster differ", name)
        return plan

    async def _watch_the_clock(self) -> None:
        """Timers count running time. When the machine slept, or somebody set its clock, all is due anew."""
        difference = self._difference()
        while True:
            await self._clock.sleep(_CLOCK_CHECK_SECONDS)
            before, difference = difference, self._difference()
            if abs(difference - before) > _CLOCK_JUMP_SECONDS:
                for job in self._jobs.cache:
                    self.on_add(job, False)

    def _difference(self) -> float:
        return self._clock.now().timestamp() - self._clock.monotonic()
