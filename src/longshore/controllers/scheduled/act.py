"""Carries plans out. A crash after any single write is safe: the name of a Job is the lock of its run.

Order: delete Jobs that are replaced, create the new one, then write the status. After a crash in between, the
next sync finds the Job by its name.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from msgspec.structs import replace

from longshore.api.errors import StatusError
from longshore.api.facts.kinds import Kind
from longshore.api.types import Obj
from longshore.client import Client, DeleteOptions, Unreachable
from longshore.controllers.scheduled.dialect import Dialect
from longshore.controllers.scheduled.memory import Memory
from longshore.controllers.scheduled.plan import ScheduledPlan
from longshore.controllers.scheduled.view import Answer, Ask, ScheduledView
from longshore.machinery.informers.cache import Key


class Act:
    """The writes of one sync. After a create it lets other syncs create their Jobs first (`others_first`):
    many may be due now, and nothing else is as urgent."""

    def __init__(
        self,
        dialect: Dialect,
        client: Client,
        memory: Memory,
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
        self._memory.wrote(self._key, cronjob, self._dialect.resource(kind), answer)


async def _answer(request: Awaitable[Obj | None]) -> Answer:
    try:
        return await request
    except (StatusError, Unreachable) as err:
        return err
