"""Gives each ClusterRole with an aggregationRule the rules of the roles that it selects."""

from __future__ import annotations

import asyncio
from typing import Final

from longshore.api.errors import tolerated
from longshore.api.facts import kinds
from longshore.controllers.aggregation.decide import decide
from longshore.machinery.controller_context import ControllerContext
from longshore.machinery.informers.informer import OnChange
from longshore.machinery.queues.workers import run_workers
from longshore.machinery.queues.workqueue import SHORT_PAUSES

__all__ = ["run"]
_ALL: Final = "every role"


async def run(context: ControllerContext) -> None:
    """Writes the rules of aggregated roles until cancelled."""
    roles = context.informers.get(kinds.CLUSTER_ROLES)
    queue = context.queue(pauses=SHORT_PAUSES)
    roles.add_handler(OnChange(lambda _: queue.add(_ALL)))

    async def sync(_: str) -> None:
        await context.informers.synced()  # half of the roles would look like all
        for plan in decide(roles.cache):
            meta = plan.role["metadata"]
            context.explain(("", meta["name"]), plan.role, plan.why)
            change = {
                "metadata": {"uid": meta["uid"], "resourceVersion": meta["resourceVersion"]},
                "rules": plan.rules,
            }
            with tolerated(404, 409):  # the change that came first makes it look again
                await context.client.patch(kinds.CLUSTER_ROLES, meta["name"], change)

    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(context.informers.run())
        tasks.create_task(run_workers(queue, sync))
