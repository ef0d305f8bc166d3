"""The loop of the Volcano CronJob controller: which CronJob to look at, and when."""

from __future__ import annotations

import asyncio
import logging
import random
from collections.abc import Awaitable
from dataclasses import replace
from typing import Final

from longshore.api import cron
from longshore.api.errors import StatusError
from longshore.api.facts import kinds
from longshore.api.facts.owners import controller_of
from longshore.api.time import instants
from longshore.api.types import Obj
from longshore.client import Client, DeleteOptions, Unreachable
from longshore.controllers.volcano.cronjob import child
from longshore.controllers.volcano.cronjob.decide import decide, timing
from longshore.controllers.volcano.cronjob.plan import Answer, Ask, Plan, View
from longshore.machinery.events.recorder import Recorder, reference
from longshore.machinery.informers.cache import Key, key_of
from longshore.machinery.informers.informer import Handler, Informer
from longshore.machinery.informers.shared import Informers
from longshore.machinery.metrics import QueueMetrics, Registry
from longshore.machinery.queues.workers import Crowd
from longshore.machinery.queues.workqueue import WorkQueue
from longshore.machinery.time import clockjumps
from longshore.machinery.time.clock import Clock
from longshore.machinery.writes.own_writes import StaleCache, Written

COMPONENT: Final = "vc-controller-manager"
WORKERS: Final = 1000
"""Upstream has three. Many CronJobs are due at the same moment, and to look at one is mostly to wait."""
_LOOK_SECONDS: Final = 5.0
_KINDS: Final = {"CronJob": kinds.VOLCANO_CRON_JOBS, "Job": kinds.VOLCANO_JOBS}

log = logging.getLogger(__name__)


async def run(
    client: Client,
    *,
    clock: Clock,
    rng: random.Random,
    informers: Informers | None = None,
    namespace: str = "",
    zone: cron.Zone = cron.UTC,
    registry: Registry | None = None,
) -> None:
    """Looks after CronJobs until cancelled. `zone` is that of schedules without one."""
    informers = informers or Informers(client, clock=clock, rng=rng)
    cronjobs = informers.get(kinds.VOLCANO_CRON_JOBS, namespace=namespace, each_update=True)
    jobs = informers.get(kinds.VOLCANO_JOBS, namespace=namespace, indexers={"owner": _owner}, transform=slim)
    recorder = Recorder(client, COMPONENT, clock=clock, rng=rng)
    controller = CronJobController(
        client,
        cronjobs,
        jobs,
        recorder,
        clock=clock,
        zone=zone,
        registry=registry or Registry(),
    )
    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(recorder.run())
        tasks.create_task(cronjobs.run())
        tasks.create_task(jobs.run())
        await cronjobs.synced()
        await jobs.synced()
        tasks.create_task(clockjumps.watch(clock, controller.look_at_all, every=_LOOK_SECONDS))
        tasks.create_task(controller.run())


def slim(job: Obj) -> Obj:
    """What is kept of a Job: whose it is, and how it ended."""
    meta = job["metadata"]
    kept = ("name", "namespace", "uid", "resourceVersion", "creationTimestamp", "deletionTimestamp",
            "ownerReferences")  # fmt: skip
    state = (job.get("status") or {}).get("state") or {}
    return {"metadata": {key: meta[key] for key in kept if key in meta}, "status": {"state": state}}


def _owner(job: Obj) -> tuple[str, ...]:
    owner = controller_of(job)
    return () if owner is None else (owner["uid"],)


class CronJobController(Handler):
    def __init__(
        self,
        client: Client,
        cronjobs: Informer,
        jobs: Informer,
        recorder: Recorder,
        *,
        clock: Clock,
        zone: cron.Zone,
        registry: Registry,
    ) -> None:
        self._client, self._cronjobs, self._jobs, self._recorder = client, cronjobs, jobs, recorder
        self._clock, self._zone = clock, zone
        self._queue: WorkQueue[Key] = WorkQueue(
            clock, gauges=QueueMetrics(registry, "volcano_cronjob", clock)
        )
        self._crowd = Crowd(self._queue, self._sync, limit=WORKERS)
        self._going: set[str] = set()
        """UIDs of Jobs that were deleted although the cache still shows them."""
        self._written: Written[Key] = Written({"cronjobs": cronjobs.cache, "jobs": jobs.cache}, clock)
        cronjobs.add_handler(self)
        jobs.add_handler(_Jobs(self))

    async def run(self) -> None:
        await self._crowd.run()

    def look_at_all(self) -> None:
        for cronjob in self._cronjobs.cache:
            self._queue.add(key_of(cronjob))

    def job_gone(self, job: Obj) -> None:
        self._going.discard(job["metadata"]["uid"])
        self.job_changed(job)

    def job_changed(self, job: Obj) -> None:
        owner = controller_of(job)
        if owner is None or owner["kind"] != "CronJob":
            return
        key = job["metadata"]["namespace"], owner["name"]
        cronjob = self._cronjobs.cache.get(*key)
        if cronjob is not None and cronjob["metadata"]["uid"] == owner["uid"]:
            self._queue.add(key)

    def on_add(self, obj: Obj, initial: bool) -> None:
        self._queue.add(key_of(obj))

    def on_update(self, old: Obj, new: Obj) -> None:
        """A new schedule counts from its next time on; what it would have run before is not caught up."""
        before, after = old["spec"], new["spec"]
        if before["schedule"] == after["schedule"] and before.get("timeZone") == after.get("timeZone"):
            self._queue.add(key_of(new))
            return
        try:
            schedule = cron.parse_in_zone(after["schedule"], after.get("timeZone"))
        except (cron.ScheduleError, cron.UnknownZone):
            self._queue.add(key_of(new))  # to be told what is wrong with it
            return
        wait = timing(self._observe(new), new, schedule).look_again
        self._queue.add_after(key_of(new), 0 if wait is None else wait)

    async def _sync(self, key: Key) -> float | None:
        await self._caught_up(key)
        cronjob = self._cronjobs.cache.get(*key)
        if cronjob is None:
            self._written.forget(key)
            return None
        plan = await self._decided(key, self._observe(cronjob))
        log.debug("cronjob %s/%s: %s", *key, plan.why)
        for event in plan.events:
            self._recorder.event(reference(plan.cronjob, kinds.VOLCANO_CRON_JOBS), *event)
        if plan.status is not None:
            wanted = {**plan.cronjob, "status": plan.status}
            answer = await self._client.update_status(kinds.VOLCANO_CRON_JOBS, wanted, key[0])
            self._written.wrote(key, cronjob["metadata"]["uid"], "cronjobs", answer)
        if plan.problem is not None:
            raise plan.problem
        return plan.look_again

    async def _caught_up(self, key: Key) -> None:
        """Waits for the caches to show this controller's own writes."""
        try:
            self._written.check(key)
        except StaleCache:
            await self._written.wait(key)

    def _observe(self, cronjob: Obj) -> View:
        jobs = self._jobs.cache.by_index("owner", cronjob["metadata"]["uid"])
        jobs = [job for job in jobs if job["metadata"]["uid"] not in self._going]
        return View(cronjob, instants.of(self._clock.now()), jobs, self._zone)

    async def _decided(self, key: Key, view: View) -> Plan:
        """Decides, and reads, deletes and creates until the plan is final. Status comes last: who dies in
        between finds the Job by its name the next time."""
        answers: dict[Ask, Answer] = {}
        while True:
            plan = decide(replace(view, answers=answers) if answers else view)
            if plan.final:
                return plan
            for ask in plan.read:
                answers[ask] = await _answer(self._client.get(_KINDS[ask.kind], ask.name, key[0]))
            for ask in plan.delete:
                options = DeleteOptions(propagation="Background", uid=ask.uid)
                gone = await _answer(self._client.delete(kinds.VOLCANO_JOBS, ask.name, key[0], options))
                answers[ask] = None if isinstance(gone, StatusError) and gone.code == 404 else gone
                cached = self._jobs.cache.get(key[0], ask.name)
                if answers[ask] is None and cached is not None and cached["metadata"]["uid"] == ask.uid:
                    self._going.add(ask.uid)
            if plan.create is not None:
                answer = await _answer(self._client.create(kinds.VOLCANO_JOBS, plan.create, key[0]))
                answers[Ask("create", "Job", plan.create["metadata"]["name"])] = answer
                if isinstance(answer, dict):
                    self._written.wrote(key, view.cronjob["metadata"]["uid"], "jobs", answer)
                    await self._crowd.others_first()


async def _answer(request: Awaitable[Obj | None]) -> Answer:
    try:
        return await request
    except (StatusError, Unreachable) as err:
        return err


class _Jobs(Handler):
    """Tells of every Job that a CronJob controls, and of those that one gave up."""

    def __init__(self, controller: CronJobController) -> None:
        self._controller = controller

    def on_add(self, obj: Obj, initial: bool) -> None:
        self._controller.job_changed(obj)

    def on_update(self, old: Obj, new: Obj) -> None:
        if controller_of(old) != controller_of(new):
            self._controller.job_changed(old)
        if child.ended(old) != child.ended(new) or controller_of(old) != controller_of(new):
            self._controller.job_changed(new)

    def on_delete(self, obj: Obj, stale: bool) -> None:
        self._controller.job_gone(obj)
