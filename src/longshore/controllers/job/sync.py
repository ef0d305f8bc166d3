"""One sync of one Job: observes, then decides and acts in the three stages of `decide.py`."""

from __future__ import annotations

from typing import Final

import msgspec

from longshore.api.errors import StatusError
from longshore.api.facts import kinds
from longshore.api.types import Obj
from longshore.client import Client
from longshore.controllers.job import spec as job_spec
from longshore.controllers.job.act import Act
from longshore.controllers.job.decide import before_killing, decide, finish, track
from longshore.controllers.job.memory import JobMemory
from longshore.controllers.job.metrics import JobMetrics
from longshore.controllers.job.observe import observe
from longshore.controllers.job.plan import Ending, JobPlan, Tracking
from longshore.machinery.events.recorder import Recorder
from longshore.machinery.explanations import Explanation, Explanations
from longshore.machinery.informers.cache import Cache, Key
from longshore.machinery.queues.workqueue import WorkQueue
from longshore.machinery.reasons import Reason
from longshore.machinery.time.clock import Clock
from longshore.machinery.writes.pod_control import is_namespace_terminating


class JobTools(msgspec.Struct, frozen=True):
    """The tools that every sync of a controller shares."""

    client: Client
    clock: Clock
    pods: Cache
    memory: JobMemory
    queue: WorkQueue[Key]
    recorder: Recorder
    metrics: JobMetrics
    explanations: Explanations

    def now(self) -> float:
        """Returns the seconds since 1970."""
        return self.clock.now().timestamp()


class Sync:
    """One sync of one Job. Raises any error, so that the queue tries again."""

    def __init__(self, tools: JobTools, key: Key, job: Obj) -> None:
        self._tools, self._key, self._job = tools, key, job
        self._act = Act(tools.client, tools.recorder, tools.memory, key, job)
        self._action = "reconciling"
        self._why: tuple[Reason, ...] = ()

    async def run(self) -> None:
        tools = self._tools
        begun, now = tools.clock.monotonic(), tools.now()
        problem = ""
        try:
            await self._stages(now)
        except Exception as err:  # explained, whatever it is, and raised again
            problem = str(err) or repr(err)
            raise
        finally:
            took = tools.clock.monotonic() - begun
            tools.metrics.synced(job_spec.mode(self._job), self._action, took, failed=bool(problem))
            told = Explanation(self._job["metadata"]["uid"], now, self._why, problem)
            tools.explanations.add(self._key, told)

    async def _stages(self, now: float) -> None:
        tools, act, key, job = self._tools, self._act, self._key, self._job
        view = await observe(tools.client, key, job, tools.pods, tools.memory, now, act.wrote_pod)
        plan = decide(view)
        self._why, self._action = plan.why, plan.action
        if _is_namespace_in_question(plan):
            await self._ask_for_namespace()
        if plan.look_again is not None:
            tools.queue.add_after(key, plan.look_again)
        if plan.next_start is not None:
            tools.memory.next_starts[key] = plan.next_start
        tracking = before_killing(plan)
        if tracking is not None:
            await self._count(tracking, kill=True)
        else:
            results, problem = await act.change_pods(plan)
            if plan.create:
                tools.metrics.pods_created(plan, results)
            tracking = track(plan, results)
            self._why += tracking.why
            await self._count(tracking)
            if problem is not None:  # only the queue retries it: a quota may refuse pods for hours
                raise problem
        if tracking.look_again is not None:
            tools.queue.add_after(key, tracking.look_again)

    async def _ask_for_namespace(self) -> None:
        """Asks whether the namespace is being deleted. The answer takes effect in the next sync."""
        tools, pause = self._tools, _NAMESPACE_CHECK_SECONDS
        if await _is_namespace_going(tools.client, self._job):
            tools.memory.namespace_going.add(self._key)
            pause = 0.0
        tools.queue.add_after(self._key, pause)

    async def _count(self, tracking: Tracking, *, kill: bool = False) -> None:
        """Makes writes 1 to 3 of tracking.py. With `kill`, deletes the plan's pods right after write 1."""
        tools, act = self._tools, self._act
        for event in tracking.events:
            act.event(*event)
        try:
            ending, problem = await self._write(tracking, kill)
        finally:
            try:
                await act.durable()
            except BaseException:
                tools.memory.remember_backoff(self._key, tracking.plan.view.backoff)
                raise
        if problem is not None:
            raise problem
        if ending.finished is not None:
            tools.memory.end_written(self._key, self._job["metadata"]["uid"])
            tools.metrics.job_finished(tracking.plan.spec, ending.finished)
            for event in ending.events:
                act.event(*event)

    async def _write(self, tracking: Tracking, kill: bool) -> tuple[Ending, Exception | None]:
        tools, act, job, spec = self._tools, self._act, self._job, tracking.plan.spec
        before, status = job.get("status") or {}, tracking.status
        if tracking.flush:
            tools.memory.expect_backoff(self._key, status, tracking.plan.backoff)
            job = await act.write_status(job, status)
            tools.memory.remember_backoff(self._key, tracking.plan.backoff)
            tools.metrics.counted(spec, before, status)
            before = status = job["status"]
        for action, many in tracking.policy_actions.items():
            tools.metrics.policy_action(action, many)
        if kill:
            _, problem = await act.change_pods(tracking.plan)
            if problem is not None:
                raise problem
        stripped, problem = await act.strip(tracking.strip)
        ending = finish(tracking, status, stripped, failed=problem is not None)
        self._why += ending.why
        if ending.flush:
            await act.write_status(job, ending.status)
            tools.metrics.counted(spec, before, ending.status)
        return ending, problem


_NAMESPACE_CHECK_SECONDS: Final = 60.0
"""Seconds between checks of a namespace in question: the controller does not watch namespaces."""


def _is_namespace_in_question(plan: JobPlan) -> bool:
    """Whether a deleted pod waits for a replacement that the Job will not create.

    A failed pod waits until a replacement takes over the failure count of its index, or until a create is
    refused because the namespace is terminating. A suspended Job, or one without parallelism, creates no
    pods."""
    if plan.indexes is None or plan.view.namespace_going or plan.create:
        return False
    halted = plan.spec.suspended or not plan.spec.parallelism
    return halted and any("deletionTimestamp" in pod["metadata"] for pod in plan.indexes.delayed.values())


async def _is_namespace_going(client: Client, job: Obj) -> bool:
    """Whether the namespace of the Job is being deleted. A dry-run create shows it without another right."""
    meta = job["metadata"]
    pod = {"metadata": {"generateName": f"{meta['name']}-"}, "spec": job["spec"]["template"]["spec"]}
    try:
        await client.create(kinds.PODS, pod, meta["namespace"], dry_run=True)
    except StatusError as err:
        return is_namespace_terminating(err)
    return False
