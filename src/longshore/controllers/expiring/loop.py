"""The loop: waits for objects to be due, reads each once more, and deletes it, its dependents first."""

from __future__ import annotations

import asyncio
import logging
import random

from longshore.api.errors import StatusError
from longshore.api.metrics import Registry, exponential_buckets
from longshore.api.time import instants
from longshore.api.types import Obj
from longshore.client import Client, DeleteOptions
from longshore.controllers.expiring.dialect import Dialect
from longshore.controllers.expiring.plan import Plan
from longshore.machinery.events.recorder import Recorder, reference
from longshore.machinery.explanations import Explanation, Explanations
from longshore.machinery.informers.cache import Key, key_of
from longshore.machinery.informers.informer import Handler, Informer
from longshore.machinery.informers.shared import Informers
from longshore.machinery.queues.queue_metrics import QueueMetrics
from longshore.machinery.queues.workers import run_workers
from longshore.machinery.queues.workqueue import WorkQueue
from longshore.machinery.time import clockjumps
from longshore.machinery.time.clock import Clock

log = logging.getLogger(__name__)


async def run(
    dialect: Dialect,
    client: Client,
    *,
    clock: Clock,
    rng: random.Random,
    informers: Informers | None = None,
    namespace: str = "",
    registry: Registry | None = None,
    explanations: Explanations | None = None,
) -> None:
    """Deletes objects that are due until cancelled, those of one namespace or all."""
    recorder = Recorder(client, dialect.component, clock=clock, rng=rng)
    informers = informers or Informers(client, clock=clock, rng=rng)
    objects = informers.get(dialect.kind, namespace=namespace, transform=dialect.slim)
    loop = _Loop(
        dialect,
        client,
        objects,
        recorder,
        clock=clock,
        registry=registry or Registry(),
        explanations=explanations or Explanations(),
    )
    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(recorder.run())
        tasks.create_task(informers.run())
        tasks.create_task(loop.run())


class _Loop(Handler):
    def __init__(
        self,
        dialect: Dialect,
        client: Client,
        objects: Informer,
        recorder: Recorder,
        *,
        clock: Clock,
        registry: Registry,
        explanations: Explanations,
    ) -> None:
        self._dialect, self._client, self._objects, self._recorder = dialect, client, objects, recorder
        self._clock, self._explanations = clock, explanations
        self._queue: WorkQueue[Key] = WorkQueue(clock, gauges=QueueMetrics(registry, dialect.queue, clock))
        self._late = (
            registry.histogram(*dialect.late_metric, (), exponential_buckets(0.1, 2, 14))
            if dialect.late_metric
            else None
        )
        objects.add_handler(self)

    def on_add(self, obj: Obj, initial: bool) -> None:
        if self._dialect.wanted(obj):
            self._queue.add(key_of(obj))

    def on_update(self, old: Obj, new: Obj) -> None:
        self.on_add(new, False)

    async def run(self) -> None:
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(run_workers(self._queue, self._sync, count=self._dialect.workers))
            tasks.create_task(clockjumps.watch(self._clock, self._look_at_all))

    def _look_at_all(self) -> None:
        for obj in self._objects.cache:
            self.on_add(obj, False)

    async def _sync(self, key: Key) -> float | None:
        """Looks at the cached object, and if it is due, once more at the real one."""
        obj = self._objects.cache.get(*key)
        if obj is None:
            return None
        plan = self._decide(key, obj)
        if plan.problem:
            about = reference(obj, self._dialect.kind)
            self._recorder.event(about, "Warning", "InvalidTTL", plan.problem)
        if plan.delete:
            try:
                plan = await self._delete(key)
            except StatusError as err:
                if err.code not in self._dialect.harmless:
                    raise
                return None
        return plan.look_again

    async def _delete(self, key: Key) -> Plan:
        """Deletes the object, if what the server has of it is due, too."""
        namespace, name = key
        obj = await self._client.get(self._dialect.kind, name, namespace)
        plan = self._decide(key, obj)
        if plan.delete:
            options = DeleteOptions(propagation="Foreground", uid=obj["metadata"]["uid"])
            await self._client.delete(self._dialect.kind, name, namespace, options)
            if self._late is not None:
                self._late.observe(plan.late)
        return plan

    def _decide(self, key: Key, obj: Obj) -> Plan:
        now = self._clock.now()
        plan = self._dialect.decide(obj, instants.of(now))
        self._explanations.add(
            key, Explanation(obj["metadata"]["uid"], now.timestamp(), plan.why, plan.problem)
        )
        if plan.skew:
            log.warning(
                "%s: %s/%s ended in the future; the clocks of this cluster differ",
                self._dialect.controller,
                *key,
            )
        return plan
