"""The loop: waits until an object is due, reads it from the server, and deletes it, its dependents first."""

from __future__ import annotations

import asyncio
import logging
from typing import Final

from longshore.api.errors import StatusError
from longshore.api.metrics import exponential_buckets
from longshore.api.time import instants
from longshore.api.types import Obj
from longshore.client import DeleteOptions
from longshore.controllers.expiring.dialect import Dialect, ExpiryPlan
from longshore.machinery.controller_context import ControllerContext
from longshore.machinery.events.recorder import reference
from longshore.machinery.informers.cache import Key, key_of
from longshore.machinery.informers.informer import Handler
from longshore.machinery.queues.workers import run_workers
from longshore.machinery.time.wallclock import WallClock

_GLANCE_SECONDS: Final = 30.0

log = logging.getLogger(__name__)


async def run(dialect: Dialect, context: ControllerContext, *, namespace: str = "") -> None:
    """Deletes objects that are due until cancelled, in one namespace or in all."""
    await _Loop(dialect, context, namespace).run()


class _Loop(Handler):
    def __init__(self, dialect: Dialect, context: ControllerContext, namespace: str) -> None:
        self._dialect, self._context, self._client = dialect, context, context.client
        self._objects = context.informers.get(dialect.kind, namespace=namespace, reads=dialect.reads)
        self._recorder, self._queue = context.recorder(dialect.component), context.queue(dialect.queue)
        self._late = (
            context.registry.histogram(*dialect.late_metric, (), exponential_buckets(0.1, 2, 14))
            if dialect.late_metric
            else None
        )
        self._objects.add_handler(self)

    def on_add(self, obj: Obj, initial: bool) -> None:
        if self._dialect.wanted(obj):
            self._queue.add(key_of(obj))

    def on_update(self, old: Obj, new: Obj) -> None:
        self.on_add(new, False)

    async def run(self) -> None:
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self._recorder.run())
            tasks.create_task(self._context.informers.run())
            tasks.create_task(run_workers(self._queue, self._sync, count=self._context.workers))
            tasks.create_task(WallClock(self._context.clock, glance=_GLANCE_SECONDS).run(self._clock_set))

    def _clock_set(self, outage: bool) -> None:
        for obj in self._objects.cache:
            self.on_add(obj, False)

    async def _sync(self, key: Key) -> float | None:
        """Decides about the cached object; if it is due, reads it from the server and decides again."""
        obj = self._objects.cache.get(*key)
        if obj is None:
            return None
        plan = self._decide(key, obj)
        if plan.problem:
            about = reference(obj, self._dialect.kind)
            self._recorder.announce(about, "InvalidTTL", problem=plan.problem)
        if plan.delete:
            try:
                plan = await self._delete(key)
            except StatusError as err:
                if err.code not in self._dialect.harmless:
                    raise
                return None
        return plan.look_again

    async def _delete(self, key: Key) -> ExpiryPlan:
        """Deletes the object if its version on the server is due, too."""
        namespace, name = key
        obj = await self._client.get(self._dialect.kind, name, namespace)
        plan = self._decide(key, obj)
        if plan.delete:
            options = DeleteOptions(propagation="Foreground", uid=obj["metadata"]["uid"])
            await self._client.delete(self._dialect.kind, name, namespace, options)
            if self._late is not None:
                self._late.observe(plan.late)
        return plan

    def _decide(self, key: Key, obj: Obj) -> ExpiryPlan:
        plan = self._dialect.decide(obj, instants.of(self._context.clock.now()))
        self._context.explain(key, obj, plan.why, plan.problem)
        if plan.skew:
            log.warning(
                "%s: %s/%s ended in the future; the clocks of this cluster differ",
                self._dialect.controller,
                *key,
            )
        return plan
