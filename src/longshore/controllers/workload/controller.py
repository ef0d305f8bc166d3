"""The loop of the workload controller: hears of Workloads, PodGroups and gangs, and carries plans out.

A crash after any write is safe: what is there already was made before.
"""

from __future__ import annotations

import asyncio
from typing import Final

from longshore.api import errors
from longshore.api.facts import kinds, owners
from longshore.api.time import rfc3339
from longshore.api.types import Obj
from longshore.controllers.workload import decide
from longshore.machinery.controller_context import ControllerContext
from longshore.machinery.informers.cache import Key, key_of
from longshore.machinery.informers.informer import OnChange
from longshore.machinery.queues.workers import run_workers
from longshore.machinery.reasons import Reason

WORKERS: Final = 5


async def run(context: ControllerContext, *, namespace: str = "") -> None:
    """Looks after Workloads and PodGroups until cancelled, those of one namespace or all."""
    await WorkloadController(context, namespace).run()


class WorkloadController:
    def __init__(self, context: ControllerContext, namespace: str) -> None:
        informers = context.informers
        self._context, self._client = context, context.client
        self._workloads = informers.get(kinds.WORKLOADS, namespace=namespace)
        self._groups = informers.get(kinds.SCHEDULING_GROUPS, namespace=namespace)
        self._gangs = informers.get(kinds.POD_GROUPS, namespace=namespace)
        self._of_workloads, self._of_groups = context.queue("workload"), context.queue("workload_podgroup")
        self._workloads.add_handler(OnChange(lambda obj: self._of_workloads.add(key_of(obj))))
        self._groups.add_handler(OnChange(lambda obj: self._of_groups.add(key_of(obj))))
        self._gangs.add_handler(OnChange(self._gang_changed))

    def _gang_changed(self, gang: Obj) -> None:
        if self._groups.cache.get(*key_of(gang)) is not None:
            self._of_groups.add(key_of(gang))

    async def run(self) -> None:
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self._context.informers.run())
            await self._context.informers.synced()
            count = self._context.workers(WORKERS)
            tasks.create_task(run_workers(self._of_workloads, self._sync_workload, count=count))
            tasks.create_task(run_workers(self._of_groups, self._sync_group, count=count))

    async def _sync_workload(self, key: Key) -> float | None:
        workload = self._workloads.cache.get(*key)
        if workload is None:
            return None
        missing = [
            group for group in decide.pod_groups(workload) if self._groups.cache.get(*key_of(group)) is None
        ]
        why = [Reason("PodGroupMissing", f"makes PodGroup {group['metadata']['name']}") for group in missing]
        for group in missing:
            with errors.tolerated(409):
                await self._client.create(kinds.SCHEDULING_GROUPS, group, key[0])
        self._context.explain(key, workload, tuple(why))
        return None

    async def _sync_group(self, key: Key) -> float | None:
        group = self._groups.cache.get(*key)
        if group is None:
            return None
        wanted = decide.gang(group)
        if wanted is None:
            return None
        gang = self._gangs.cache.get(*key)
        if gang is None:
            with errors.tolerated(409):
                await self._client.create(kinds.POD_GROUPS, wanted, key[0])
            return None
        owner = owners.controller_of(gang)
        if owner is None or owner["uid"] != group["metadata"]["uid"]:
            return None  # another's, of the same name
        now = rfc3339.from_seconds(self._context.clock.now().timestamp())
        new = decide.condition(group, gang, now)
        if new is not None:
            patch = {"status": {"conditions": [new]}}
            await self._client.patch(kinds.SCHEDULING_GROUPS, key[1], patch, key[0], subresource="status")
        return None
