"""The loop: which CronJob to sync, and when; carries plans out.

Order of writes: Jobs that are replaced are deleted, then the new one is created, then the status is written.
A crash after any of them is safe: the name of a Job is the lock of its run, and the next sync finds the Job
by its name.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Final

from msgspec.structs import replace

from longshore.api import cron
from longshore.api.errors import StatusError
from longshore.api.facts.kinds import Kind
from longshore.api.metrics import exponential_buckets
from longshore.api.types import Obj
from longshore.client import Client, DeleteOptions, Unreachable
from longshore.controllers.scheduled.dialect import Dialect
from longshore.controllers.scheduled.handlers import CronJobHandler, JobHandler
from longshore.controllers.scheduled.memory import CronJobMemory
from longshore.controllers.scheduled.plan import ScheduledPlan
from longshore.controllers.scheduled.view import Answer, Ask, ScheduledView
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
    seconds at which the clock is checked."""
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
        # A new schedule waits for its next time, any other change is synced at once, so two changes in a row
        # must not become one.
        self._cronjobs = informers.get(dialect.cronjobs, namespace=namespace, each_update=True)
        self._jobs = informers.get(
            dialect.jobs,
            namespace=namespace,
            indexers={_BY_OWNER: dialect.by_owner},
            reads=dialect.reads,
        )
        self._recorder, self._queue = context.recorder(dialect.component), context.queue(dialect.queue)
        self._crowd = Crowd(self._queue, self.sync, limit=context.workers)
        self._memory = CronJobMemory(dialect, clock, self._cronjobs.cache, self._jobs.cache)
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
        await self._memory.own_writes.wait(key)
        cronjob = self._cronjobs.cache.get(*key)
        if cronjob is None:
            self._memory.forget(key)
            return None
        if key in self._memory.doubted:
            await self._check(cronjob)
            self._memory.doubted.discard(key)
        act = _Act(self._dialect, self._context.client, self._memory, key, self._crowd.others_first)
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


class _Act:
    """The writes of one sync. After a create it lets other syncs create their Jobs first (`others_first`):
    many may be due now, and nothing else is as urgent."""

    def __init__(
        self,
        dialect: Dialect,
        client: Client,
        memory: CronJobMemory,
        key: Key,
        others_first: Callable[[], Awaitable[None]],
    ) -> None:
        self._dialect, self._client, self._memory, self._key = dialect, client, memory, key
        self._others_first = others_first
        self._kinds = {"CronJob": dialect.cronjobs, "Job": dialect.jobs}

    async def decided(self, view: ScheduledView) -> ScheduledPlan:
        """Decides, reads, deletes and creates until the plan is final."""
        answers: dict[Ask, Answer] = {}
        while True:
            plan = self._dialect.decide(replace(view, answers=answers) if answers else view)
            if plan.final:
                return plan
            for ask in plan.read:
                answers[ask] = await _answer(self._client.get(self._kinds[ask.kind], ask.name, self._key[0]))
            for ask in plan.delete:
                answers[ask] = await self._delete(ask)
            if plan.create is not None:
                name = plan.create["metadata"]["name"]
                answers[Ask("create", "Job", name)] = await self._create(plan.create, plan.cronjob)

    async def write_status(self, plan: ScheduledPlan) -> None:
        """Writes the status. Fails with a conflict if the CronJob has changed since it was read."""
        wanted = {**plan.cronjob, "status": plan.status}
        answer = await self._client.update_status(self._dialect.cronjobs, wanted, self._key[0])
        self._wrote(self._dialect.cronjobs, plan.cronjob, answer)

    async def _create(self, job: Obj, cronjob: Obj) -> Answer:
        answer = await _answer(self._client.create(self._dialect.jobs, job, self._key[0]))
        if isinstance(answer, dict):
            self._wrote(self._dialect.jobs, cronjob, answer)
            await self._others_first()
        return answer

    async def _delete(self, ask: Ask) -> Answer:
        options = DeleteOptions(propagation="Background", uid=ask.uid)
        answer = await _answer(self._client.delete(self._dialect.jobs, ask.name, self._key[0], options))
        if self._dialect.gone_is_deleted and isinstance(answer, StatusError) and answer.code == 404:
            answer = None
        if not isinstance(answer, Exception):
            self._memory.deleted(self._key, ask)
        return answer

    def _wrote(self, kind: Kind, cronjob: Obj, answer: Obj) -> None:
        self._memory.own_writes.wrote(
            self._key, cronjob["metadata"]["uid"], self._dialect.resource(kind), answer
        )


async def _answer(request: Awaitable[Obj | None]) -> Answer:
    try:
        return await request
    except (StatusError, Unreachable) as err:
        return err
