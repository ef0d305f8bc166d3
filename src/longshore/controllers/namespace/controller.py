"""The loop of the namespace controller: which namespace to look at, and when."""

from __future__ import annotations

import asyncio
from typing import Final

from longshore.api.facts import kinds
from longshore.api.time import rfc3339
from longshore.api.types import Obj
from longshore.controllers.namespace.act import act
from longshore.controllers.namespace.decide import LOOK_AGAIN_SECONDS, decide
from longshore.controllers.namespace.observe import observe, wanted
from longshore.machinery.controller_context import ControllerContext
from longshore.machinery.informers.informer import OnChange
from longshore.machinery.queues.workers import run_workers
from longshore.machinery.queues.workqueue import SHORT_PAUSES

WORKERS: Final = 1


async def run(context: ControllerContext) -> None:
    """Empties terminating namespaces until cancelled."""
    client, queue = context.client, context.queue(pauses=SHORT_PAUSES)
    failures: dict[str, tuple[str, ...]] = {}
    """The failures to delete in the last pass, by namespace: the next one shows them."""

    def changed(namespace: Obj) -> None:
        if wanted(namespace):
            queue.add(namespace["metadata"]["name"])

    async def sync(name: str) -> float | None:
        now = rfc3339.from_moment(context.clock.now())
        view = await observe(client, name, now, failures.pop(name, ()))
        if view is None:
            return None
        plan = decide(view)
        with context.explaining(("", name), view.namespace, plan.why):
            failed = await act(client, view, plan)
        if not failed:
            return plan.look_again
        failures[name] = failed
        return LOOK_AGAIN_SECONDS

    namespaces = context.informers.get(kinds.NAMESPACES)
    namespaces.add_handler(OnChange(changed))
    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(namespaces.run())
        tasks.create_task(run_workers(queue, sync, count=context.workers(WORKERS)))
