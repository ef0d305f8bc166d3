"""The loop of the namespace controller: which namespace to look at, and when."""

from __future__ import annotations

import asyncio
import random

from longshore.api.facts import kinds
from longshore.api.time import rfc3339
from longshore.api.time.doubling import Doubling
from longshore.api.types import Obj
from longshore.client import Client
from longshore.controllers.namespace.act import act
from longshore.controllers.namespace.decide import LOOK_AGAIN_SECONDS, decide
from longshore.controllers.namespace.observe import observe, wanted
from longshore.machinery.explanations import Explanations
from longshore.machinery.informers.informer import OnChange
from longshore.machinery.informers.shared import Informers
from longshore.machinery.queues.workers import run_workers
from longshore.machinery.queues.workqueue import WorkQueue
from longshore.machinery.time.clock import Clock

_MAX_PAUSE_SECONDS = 30.0


async def run(
    client: Client,
    *,
    clock: Clock,
    rng: random.Random,
    informers: Informers | None = None,
    explanations: Explanations | None = None,
) -> None:
    """Empties terminating namespaces until cancelled. Reasons go to `explanations`, without a namespace."""
    told = explanations or Explanations()
    queue: WorkQueue[str] = WorkQueue(clock, pauses=Doubling(0.005, _MAX_PAUSE_SECONDS))
    failures: dict[str, tuple[str, ...]] = {}
    """The failures to delete in the last pass, by namespace: the next one shows them."""

    def changed(namespace: Obj) -> None:
        if wanted(namespace):
            queue.add(namespace["metadata"]["name"])

    async def sync(name: str) -> float | None:
        now = clock.now()
        view = await observe(client, name, rfc3339.from_moment(now), failures.pop(name, ()))
        if view is None:
            return None
        plan = decide(view)
        with told.telling(("", name), view.namespace["metadata"]["uid"], now.timestamp(), plan.why):
            failed = await act(client, view, plan)
        if not failed:
            return plan.look_again
        failures[name] = failed
        return LOOK_AGAIN_SECONDS

    informers = informers or Informers(client, clock=clock, rng=rng)
    namespaces = informers.get(kinds.NAMESPACES)
    namespaces.add_handler(OnChange(changed))
    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(namespaces.run())
        tasks.create_task(run_workers(queue, sync))
