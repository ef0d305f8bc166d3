"""The loop: waits for Jobs to be due, reads each once more, and deletes it, its pods first."""

from __future__ import annotations

import asyncio
import logging
import random
from typing import Final

from longshore.api.errors import StatusError
from longshore.api.facts import kinds
from longshore.api.types import Obj
from longshore.client import Client, DeleteOptions
from longshore.controllers.volcano.gc.decide import decide, wanted
from longshore.machinery.informers.cache import Key, key_of
from longshore.machinery.informers.informer import Handler, Informer
from longshore.machinery.informers.shared import Informers
from longshore.machinery.metrics import QueueMetrics, Registry
from longshore.machinery.queues.workers import run_workers
from longshore.machinery.queues.workqueue import WorkQueue
from longshore.machinery.time import clockjumps
from longshore.machinery.time.clock import Clock

WORKERS: Final = 1

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
    jobs = informers.get(kinds.VOLCANO_JOBS, namespace=namespace, transform=slim)
    controller = GcController(client, jobs, clock=clock, registry=registry or Registry())
    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(jobs.run())
        tasks.create_task(controller.run())


def slim(job: Obj) -> Obj:
    """What a decision needs of a Job; the cache keeps no more."""
    meta, ttl = job["metadata"], (job.get("spec") or {}).get("ttlSecondsAfterFinished")
    kept = ("name", "namespace", "uid", "resourceVersion", "deletionTimestamp")
    found: Obj = {"metadata": {key: meta[key] for key in kept if key in meta}}
    if ttl is not None:
        found["spec"] = {"ttlSecondsAfterFinished": ttl}
        found["status"] = {"state": (job.get("status") or {}).get("state")}
    return found


class GcController(Handler):
    def __init__(self, client: Client, jobs: Informer, *, clock: Clock, registry: Registry) -> None:
        self._client, self._jobs, self._clock = client, jobs, clock
        self._queue: WorkQueue[Key] = WorkQueue(clock, gauges=QueueMetrics(registry, "volcano_gc", clock))
        jobs.add_handler(self)

    def on_add(self, obj: Obj, initial: bool) -> None:
        if wanted(obj):
            self._queue.add(key_of(obj))

    def on_update(self, old: Obj, new: Obj) -> None:
        self.on_add(new, False)

    async def run(self) -> None:
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(run_workers(self._queue, self._sync, count=WORKERS))
            tasks.create_task(clockjumps.watch(self._clock, self._look_at_all))

    def _look_at_all(self) -> None:
        for job in self._jobs.cache:
            self.on_add(job, False)

    async def _sync(self, key: Key) -> float | None:
        """Looks at the cached Job, and if it is due, once more at the real one."""
        cached = self._jobs.cache.get(*key)
        if cached is None:
            return None
        plan = decide(cached, self._clock.now())
        log.debug("job %s/%s: %s", *key, plan.why)
        if not plan.delete:
            return plan.look_again
        try:
            job = await self._client.get(kinds.VOLCANO_JOBS, key[1], key[0])
            plan = decide(job, self._clock.now())
            if not plan.delete:
                return plan.look_again
            options = DeleteOptions(propagation="Foreground", uid=job["metadata"]["uid"])
            await self._client.delete(kinds.VOLCANO_JOBS, key[1], key[0], options)
        except StatusError as err:
            if err.code not in (404, 409):  # gone, or replaced: either way not this Job's matter any more
                raise
        return None
