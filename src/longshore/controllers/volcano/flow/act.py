"""Carries plans out. A crash after any single write is safe: a Job that exists is not created again."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from longshore.api import errors
from longshore.api.errors import StatusError
from longshore.api.facts import kinds
from longshore.api.metrics import Counter
from longshore.api.types import Obj
from longshore.client import Client, DeleteOptions
from longshore.controllers.volcano.flow.decide import FlowPlan
from longshore.machinery.events.recorder import Recorder, reference
from longshore.machinery.queues.try_again import TryAgain

_BACKGROUND: Final = DeleteOptions(propagation="Background")


class Act:
    """`counters` count the ended flows, by phase."""

    def __init__(self, client: Client, recorder: Recorder, counters: Mapping[str, Counter]) -> None:
        self._client, self._recorder, self._counters = client, recorder, counters

    async def carry_out(self, flow: Obj, plan: FlowPlan) -> None:
        """Writes Jobs, then the status. Raises `TryAgain` before the status if a template is missing."""
        namespace = flow["metadata"]["namespace"]
        for name in plan.delete:
            await self._delete(name, namespace)
        for job in plan.create:
            await self._create(flow, job)
        if plan.missing:
            raise TryAgain(f'getting JobTemplate "{plan.missing}" in ns "{namespace}": not found')
        if plan.status is not None:
            await self._client.update_status(kinds.JOB_FLOWS, {**flow, "status": plan.status}, namespace)
            if plan.ended:
                self._counters[plan.ended].inc(namespace)

    async def _create(self, flow: Obj, job: Obj) -> None:
        name = job["metadata"]["name"]
        try:
            await self._client.create(kinds.VOLCANO_JOBS, job, job["metadata"]["namespace"])
        except StatusError as err:
            if err.reason != "AlreadyExists":
                raise
            return
        about = reference(flow, kinds.JOB_FLOWS)
        self._recorder.event(about, "Normal", "Created", f"create a job named {name}!")

    async def _delete(self, name: str, namespace: str) -> None:
        with errors.tolerated(404):
            await self._client.delete(kinds.VOLCANO_JOBS, name, namespace, _BACKGROUND)
