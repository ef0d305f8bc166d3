"""The loop: which CronJob to sync, and when."""

from __future__ import annotations

import asyncio
from typing import Final

from longshore.api import cron
from longshore.api.errors import StatusError
from longshore.api.metrics import exponential_buckets
from longshore.api.types import Obj
from longshore.controllers.scheduled.act import Act
from longshore.controllers.scheduled.dialect import Dialect
from longshore.controllers.scheduled.handlers import CronJobHandler, JobHandler
from longshore.controllers.scheduled.memory import Memory
from longshore.controllers.scheduled.view import ScheduledView
from longshore.machinery.catalogue import Event
from longshore.machinery.controller_context import ControllerContext
from longshore.machinery.events.recorder import reference
from longshore.machinery.informers.cache import Key, key_of
from longshore.machinery.informers.reflector import revision_of
from longshore.machinery.queues.workers import Crowd
from longshore.machinery.time.wallclock import GLANCE_SECONDS, WallClock
from longshore.machinery.writes.own_writes import StaleCache

_NOBODY: Final[frozenset[str]] = frozenset()
_BY_OWNER: Final = "by the CronJob that controls them"
WORKERS: Final = 1000
"""Upstream has five. Many CronJobs are due at the same moment, and a sync mostly waits."""


async def run(
    dialect: Dialect,
    context: ControllerContext,
    *,
    namespace: str = "",
    zone: cron.Zone = cron.UTC,
    glance: float = GLANCE_SECONDS,
) -> None:
    """Syncs CronJobs until cancelled.

    An empty `namespace` means all. `zone` applies to CronJobs without one. `glance` is the interval in
    seconds at which the clock is checked.
    """
    await Loop(dialect, context, namespace, zone, glance).run()


class Loop:
    """Wires informers, queue and handlers together. Takes the arguments of `run`."""

    def __init__(
        self,
        dialect: Dialect,
        context: ControllerContext,
        namespace: str,
        zone: cron.Zone,
        glance: float,
    ) -> None:
        informers, clock = context.informers, context.clock
        self._dialect, self._context, self._zone = dialect, context, zone
        self._wall = WallClock(clock, glance=glance)
        # A new schedule is not looked at before its next time, any other change is: two changes are not one.
        self._cronjobs = informers.get(dialect.cronjobs, namespace=namespace, each_update=True)
        self._jobs = informers.get(
            dialect.jobs,
            namespace=namespace,
            indexers={_BY_OWNER: dialect.by_owner},
            reads=dialect.reads,
        )
        self._recorder, self._queue = context.recorder(dialect.component), context.queue(dialect.queue)
        self._crowd = Crowd(self._queue, self.sync, limit=context.workers(WORKERS))
        self._memory = Memory(dialect, clock, self._cronjobs.cache, self._jobs.cache)
        self._lateness = (
            context.registry.histogram(*dialect.late_metric, (), exponential_buckets(1, 2, 10))
            if dialect.late_metric
            else None
        )
        self._cronjobs.add_handler(
            CronJobHandler(dialect, self._queue, self._memory, self._observe, self._tell)
        )
        self._jobs.add_handler(JobHandler(dialect, self._queue, self._memory, self._cronjobs.cache))

    async def run(self) -> None:
        """Syncs CronJobs until cancelled. Decides nothing before both caches are complete."""
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self._recorder.run())
            tasks.create_task(self._context.informers.run())
            await self._context.informers.synced()
            tasks.create_task(self._wall.run(self._clock_set))
            tasks.create_task(self._crowd.run())

    async def sync(self, key: Key) -> float | None:
        """Syncs one CronJob; returns the seconds until the next sync. Raises to be called again."""
        await self._memory.caught_up(key)
        cronjob = self._cronjobs.cache.get(*key)
        if cronjob is None:
            self._memory.forget(key)
            return None
        if key in self._memory.doubted:
            await self._check(cronjob)
            self._memory.doubted.discard(key)
        act = Act(self._dialect, self._context.client, self._memory, key, self._crowd.others_first)
        plan = await act.decided(self._observe(cronjob))
        for event in plan.events:
            self._tell(plan.cronjob, event)
        self._memory.untold.discard(key)
        if plan.strangers:
            self._memory.strangers[key] = frozenset(plan.strangers)
        else:
            self._memory.strangers.pop(key, None)
        if self._lateness is not None and plan.lateness is not None:
            self._lateness.observe(plan.lateness)
        problem = plan.problem
        if plan.status is not None:
            try:
                await act.write_status(plan)
            except Exception as err:  # explained, whatever it is, and raised below
                problem = err
        self._context.explain(key, plan.cronjob, plan.why, problem)
        if problem is not None:
            self._memory.doubted.add(key)
            raise problem
        return plan.look_again

    async def _check(self, cronjob: Obj) -> None:
        """Raises `StaleCache` if the cached CronJob is outdated. Called after a failed sync: if the CronJob
        is gone and the cache does not show it yet, its new Jobs are deleted as fast as they are made."""
        meta, resource = cronjob["metadata"], self._dialect.cronjobs
        try:
            now = (await self._context.client.get(resource, meta["name"], meta["namespace"]))["metadata"]
        except StatusError as err:
            if err.code != 404:
                raise
            now = {}
        if now.get("resourceVersion") != meta["resourceVersion"]:
            newest = revision_of(now.get("resourceVersion", ""))
            raise StaleCache(self._dialect.resource(resource), revision_of(meta["resourceVersion"]), newest)

    def _observe(self, cronjob: Obj) -> ScheduledView:
        key = key_of(cronjob)
        return ScheduledView(
            cronjob,
            self._wall.now(),
            jobs=self._jobs.cache.by_index(_BY_OWNER, self._dialect.owner_key(cronjob)),
            going=self._memory.going(key),
            strangers=self._memory.strangers.get(key, _NOBODY),
            zone=self._zone,
            steady_since=self._wall.steady_since,
            outage=self._wall.outage if key in self._memory.untold else None,
        )

    def _tell(self, cronjob: Obj, event: Event) -> None:
        self._recorder.event(reference(cronjob, self._dialect.cronjobs), *event)

    def _clock_set(self, outage: bool) -> None:
        """Queues every CronJob, since timers do not match the clock any more. Each starts at most one run."""
        for cronjob in self._cronjobs.cache:
            key = key_of(cronjob)
            if outage:
                self._memory.untold.add(key)
            self._queue.add(key)
