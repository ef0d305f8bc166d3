"""Carries plans out, and returns the answers. Never decides.

Remembers its writes, so that no sync decides on an older cache and their watch events wake no Job.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Final

import msgspec

from longshore.api.errors import StatusError
from longshore.api.facts import kinds
from longshore.api.facts.kinds import Kind
from longshore.api.time import rfc3339
from longshore.api.types import Obj
from longshore.client import Client, DeleteOptions, PatchType, Unreachable, writes
from longshore.controllers.volcano.job.decide import Decision
from longshore.controllers.volcano.job.memory import OneJobMemory, VolcanoJobMemory
from longshore.controllers.volcano.job.metrics import VolcanoMetrics
from longshore.controllers.volcano.job.plan import (
    Answer,
    Answers,
    Create,
    Delete,
    End,
    Get,
    NewKey,
    Patch,
    Step,
    Update,
    VolcanoJobPlan,
    WriteStatus,
)
from longshore.controllers.volcano.job.view import VolcanoJobView
from longshore.controllers.volcano.job.waking.unseen_pods import UnseenPods
from longshore.controllers.volcano.job.waking.unwritten_counters import UnwrittenCounters
from longshore.controllers.volcano.plugins import KeyMaker
from longshore.machinery.events.recorder import Recorder, reference
from longshore.machinery.informers.cache import Key
from longshore.machinery.time.clock import Clock

_MAX_PODS_PER_BATCH: Final = 500
"""Pods that are written concurrently."""
_CACHED: Final = {kinds.VOLCANO_JOBS: "jobs", kinds.PODS: "pods", kinds.POD_GROUPS: "podgroups"}
"""Kinds of which the next sync waits until the cache shows the writes."""


class VolcanoJobTools(msgspec.Struct, frozen=True):
    """The tools that every sync of every Job shares."""

    client: Client
    clock: Clock
    memory: VolcanoJobMemory
    recorder: Recorder
    metrics: VolcanoMetrics
    unwritten: UnwrittenCounters
    unseen: UnseenPods
    keys: KeyMaker


class Act:
    """The writes of one sync of a Job, which makes plans until an `End`."""

    def __init__(
        self, tools: VolcanoJobTools, key: Key, view: VolcanoJobView, remembered: OneJobMemory
    ) -> None:
        self._tools, self._client, self._key, self._namespace = tools, tools.client, key, key[0]
        self._remembered, self._view, self._job = remembered, view, view.job
        self.plan = VolcanoJobPlan(())
        """The last plan that was decided."""

    async def sync(self) -> End:
        """Decides and carries out plan after plan, until the end of the sync."""
        decision = Decision(self._view)
        while not isinstance(plan := decision.plan, End):
            self.plan = plan
            results = await self._carry_out(plan)
            decision.go_on(Answers(results, self._tools.memory.waiting(self._key)))
        self._tell(plan)
        return plan

    def _tell(self, plan: VolcanoJobPlan | End) -> None:
        if plan.events:
            about = reference(self._job, kinds.VOLCANO_JOBS)
            for event in plan.events:
                self._tools.recorder.event(about, *event)

    async def _carry_out(self, plan: VolcanoJobPlan) -> Sequence[Answer]:
        self._tell(plan)
        steps = plan.steps
        if isinstance(steps[0], Create) and steps[0].kind == kinds.PODS:
            return await self._create_pods([step.body for step in steps if isinstance(step, Create)])
        if len(steps) == 1:
            return (await self._answer(steps[0]),)  # one step needs no task of its own
        answers: list[Answer] = []
        for start in range(0, len(steps), _MAX_PODS_PER_BATCH):
            answers += await asyncio.gather(*map(self._answer, steps[start : start + _MAX_PODS_PER_BATCH]))
        return answers

    async def _answer(self, step: Step) -> Answer:
        try:
            return await self._do(step)
        except (StatusError, Unreachable) as err:
            return err

    async def _do(self, step: Step) -> Obj:
        match step:
            case WriteStatus():
                return await self._write_status(step)
            case Create(kind, body):
                return self._wrote(kind, await self._client.create(kind, body, self._namespace))
            case Update(kind, body):
                return self._wrote(kind, await self._client.update(kind, body, self._namespace))
            case Patch(kind, name, body):
                how = PatchType.JSON if isinstance(body, list) else PatchType.MERGE
                answer = await self._client.patch(kind, name, body, self._namespace, type=how)
                return self._wrote(kind, answer)
            case Delete():
                return await self._delete(step)
            case Get(kind, name):
                return await self._client.get(kind, name, self._namespace)
            case NewKey(bits):
                return (await self._tools.keys.rsa(bits))._asdict()

    def _wrote(self, kind: Kind, answer: Obj) -> Obj:
        """Makes the next sync wait until the cache shows this write."""
        if kind in _CACHED:
            self._tools.memory.own_writes.wrote(self._key, self._remembered.uid, _CACHED[kind], answer)
        return answer

    async def _write_status(self, step: WriteStatus) -> Obj:
        said, phase = self._remembered.said, step.became
        if phase:
            self._tools.metrics.changed(step.job, phase)
            said[phase] = ""
        try:
            answer = await self._client.update_status(kinds.VOLCANO_JOBS, step.job, self._namespace)
            self._tools.unwritten.settle(self._key)
        except BaseException:
            said.pop(phase, None)
            raise
        if phase in said:
            said[phase] = answer["metadata"].get("resourceVersion") or ""
        return self._wrote(kinds.VOLCANO_JOBS, answer)

    async def _delete(self, step: Delete) -> Obj:
        options = DeleteOptions(uid=step.uid or None)
        try:
            answer = await self._client.delete(step.kind, step.name, self._namespace, options)
        except StatusError as err:
            if err.code == 404:
                self._gone(step)
            raise
        self._gone(step)
        if answer is not None and step.kind == kinds.PODS:
            self._wrote(kinds.PODS, answer)
        return answer or {}

    def _gone(self, step: Delete) -> None:
        """Notes a deleted object, which the cache may still show for a while."""
        if step.kind == kinds.PODS:
            self._remembered.going.add(step.uid)
        elif step.kind == kinds.POD_GROUPS:
            self._remembered.groups.add(step.uid)

    async def _create_pods(self, bodies: Sequence[Obj]) -> list[Answer]:
        answers: list[Answer] = []
        for start in range(0, len(bodies), _MAX_PODS_PER_BATCH):
            answers += await self._create_some(bodies[start : start + _MAX_PODS_PER_BATCH])
        return answers

    async def _create_some(self, bodies: Sequence[Obj]) -> Sequence[Answer]:
        begun = rfc3339.seconds(self._job["metadata"]["creationTimestamp"])
        making = self._remembered.making
        names = [body["metadata"]["name"] for body in bodies]
        making.update(names)
        try:
            creates = [writes.Create(kinds.PODS, body, self._namespace) for body in bodies]
            answers = await self._client.write(creates)
        except BaseException:
            making.difference_update(names)
            raise
        latency = (self._tools.clock.now().timestamp() - begun) * 1000
        for name, answer in zip(names, answers, strict=True):
            if isinstance(answer, Exception):
                making.discard(name)
            else:
                self._wrote(kinds.PODS, answer)
                self._tools.unseen.made(self._key, answer)
                self._tools.metrics.pod_created(latency)
        return answers
