"""The loop of the Volcano Job controller: which Job to sync, when, and in what order."""

from __future__ import annotations

import asyncio
import logging
from functools import lru_cache
from typing import Final

from longshore.api import errors
from longshore.api.facts import kinds, pod_state
from longshore.api.types import Obj
from longshore.client.projection import WRITABLE, Projection
from longshore.controllers.volcano.job import observe
from longshore.controllers.volcano.job.act import Act, VolcanoJobTools
from longshore.controllers.volcano.job.memory import OneJobMemory, VolcanoJobMemory
from longshore.controllers.volcano.job.metrics import VolcanoMetrics
from longshore.controllers.volcano.job.plan import End, VolcanoJobPlan
from longshore.controllers.volcano.job.requests_in_order import RETRIES
from longshore.controllers.volcano.job.view import VolcanoJobView
from longshore.controllers.volcano.job.waking.handlers import (
    CommandHandler,
    GroupHandler,
    JobHandler,
    PodHandler,
)
from longshore.controllers.volcano.job.waking.unseen_pods import UnseenPods
from longshore.controllers.volcano.job.waking.unwritten_counters import UnwrittenCounters
from longshore.controllers.volcano.plugins import KeyMaker
from longshore.machinery.controller_context import ControllerContext
from longshore.machinery.explanations import Explanation
from longshore.machinery.informers.cache import Key
from longshore.machinery.queues.workers import run_workers
from longshore.machinery.queues.workqueue import WorkQueue

COMPONENT: Final = "vc-controller-manager"
READS: Final = {
    kinds.VOLCANO_JOBS: WRITABLE,
    kinds.POD_GROUPS: WRITABLE,
    kinds.PODS: Projection(
        *(f"metadata.{name}" for name in ("annotations", "creationTimestamp", "labels")),
        *pod_state.STATUS_FIELDS,
    ),
}
"""All that is read of Jobs, their groups and pods, by kind."""
log = logging.getLogger(__name__)
_BASIS: Final = 2166136261
_PRIME: Final = 16777619


async def run(context: ControllerContext, *, keys: KeyMaker, namespace: str = "") -> None:
    """Syncs Volcano Jobs until cancelled, in one namespace or in all."""
    await VolcanoJobController(context, keys, namespace).run()


class VolcanoJobController:
    """Wires informers, queues and handlers together. Takes the arguments of `run`."""

    def __init__(self, context: ControllerContext, keys: KeyMaker, namespace: str) -> None:
        client, clock, informers = context.client, context.clock, context.informers
        self._client, self._clock, self._informers = client, clock, informers
        self._explanations, self._limits = context.explanations, context.limits
        self._jobs = informers.get(kinds.VOLCANO_JOBS, namespace=namespace, reads=READS[kinds.VOLCANO_JOBS])
        self._pods = informers.get(kinds.PODS, namespace=namespace, reads=READS[kinds.PODS])
        self._pods.cache.add_index(observe.PODS_BY_JOB, observe.pods_by_job)
        self._groups = informers.get(kinds.POD_GROUPS, namespace=namespace, reads=READS[kinds.POD_GROUPS])
        commands = informers.get(kinds.COMMANDS, namespace=namespace)
        self._queue_objects = informers.get(kinds.QUEUES)
        self._priorities = informers.get(kinds.PRIORITY_CLASSES)
        self._recorder = context.recorder(COMPONENT)
        workers = context.workers
        self._queues: tuple[WorkQueue[Key], ...] = context.queues(workers, "volcano_job", pauses=RETRIES)
        self._memory = VolcanoJobMemory(clock, self._jobs.cache, self._pods.cache, self._groups.cache)
        metrics = VolcanoMetrics(context.registry)
        self._unwritten = UnwrittenCounters(clock, self._wake)
        self._unseen = UnseenPods(clock, self._memory, self._pods.cache, self._wake)
        self._tools = VolcanoJobTools(
            client, clock, self._memory, self._recorder, metrics, self._unwritten, self._unseen, keys
        )
        self._jobs.add_handler(JobHandler(self._memory, self._wake, metrics))
        self._pods.add_handler(PodHandler(self._memory, self._wake, self._jobs.cache, self._pods.cache))
        self._groups.add_handler(GroupHandler(self._memory, self._wake))
        commands.add_handler(CommandHandler(self._memory, self._wake))

    def _is_busy(self, key: Key) -> bool:
        """Whether other Jobs wait for the Job's worker."""
        return len(self._queue_of(key)) > 0

    def _wake(self, key: Key) -> None:
        self._queue_of(key).add(key)

    def _queue_of(self, key: Key) -> WorkQueue[Key]:
        """Returns the queue of the Job's only worker, which handles its requests in order."""
        return self._queues[fnv1("/".join(key)) % len(self._queues)]

    async def run(self) -> None:
        """Syncs Jobs until cancelled. Decides nothing before all caches are complete."""
        try:
            async with asyncio.TaskGroup() as tasks:
                tasks.create_task(self._recorder.run())
                tasks.create_task(self._informers.run())
                await self._informers.synced()
                for queue in self._queues:
                    tasks.create_task(run_workers(queue, self.sync))
        finally:
            self._unwritten.stop()
            self._unseen.stop()

    async def sync(self, key: Key) -> float | None:
        """Syncs one Job. Raises to be called again."""
        await self._memory.own_writes.wait(key)
        job = self._jobs.cache.get(*key)
        if job is None:
            await self._gone(key)
            return None
        remembered = self._memory.of(key, job["metadata"]["uid"])
        view = self._observe(key, job, remembered)
        act = Act(self._tools, key, view, remembered)
        try:
            end = await act.sync()
        except BaseException as err:
            self._memory.put_back(key, view.requests)
            self._explain(key, view, act.plan, err)
            raise
        self._memory.settle(key, end)
        if end.counters_later:
            self._unwritten.add(key)
        self._explain(key, view, end, end.problem)
        if end.problem is not None:
            if end.look_again is None:
                raise end.problem
            log.info("%s/%s: trying again: %s", *key, end.problem)
        return end.look_again

    def _observe(self, key: Key, job: Obj, remembered: OneJobMemory) -> VolcanoJobView:
        return observe.observe(
            job,
            self._clock.now().timestamp(),
            remembered,
            self._memory.take(key),
            pods=self._pods.cache,
            groups=self._groups.cache,
            queues=self._queue_objects.cache,
            priorities=self._priorities.cache,
            unwritten=key in self._unwritten,
            busy=self._is_busy(key),
            limits=self._limits,
        )

    def _explain(
        self, key: Key, view: VolcanoJobView, plan: VolcanoJobPlan | End, problem: BaseException | None
    ) -> None:
        if plan.why:
            said = "" if problem is None else str(problem)
            uid = view.job["metadata"]["uid"]
            self._explanations.add(key, Explanation(uid, view.now, plan.why, said))

    async def _gone(self, key: Key) -> None:
        """Forgets a Job that does not exist, and deletes the Commands for it."""
        commands = [request for request in self._memory.take(key) if request.command]
        try:
            for request in commands:
                with errors.tolerated(404):
                    await self._client.delete(kinds.COMMANDS, request.command, key[0])
        except BaseException:
            self._memory.put_back(key, commands)
            raise
        self._memory.forget(key)
        self._unwritten.settle(key)


@lru_cache(maxsize=4096)
def fnv1(text: str) -> int:
    """Returns the FNV-1 hash: multiplies first, then XORs the next byte (FNV-1a does the reverse)."""
    found = _BASIS
    for byte in text.encode():
        found = found * _PRIME % 2**32 ^ byte
    return found
