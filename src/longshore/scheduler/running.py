"""Runs the schedulers of one process on one ledger."""

from __future__ import annotations

import asyncio
import random

from longshore.client import Client
from longshore.machinery.clock import Clock
from longshore.machinery.explanations import Explanation, Explanations
from longshore.machinery.metrics import Registry
from longshore.scheduler import default
from longshore.scheduler.cluster import Cluster
from longshore.scheduler.default import DefaultScheduler


class Schedulers:
    """Made first, so that others can ask it to explain; `run` does the work."""

    def __init__(
        self,
        client: Client,
        *,
        clock: Clock,
        rng: random.Random,
        registry: Registry | None = None,
        explanations: Explanations | None = None,
    ) -> None:
        self._cluster = Cluster(client, clock=clock, rng=rng)
        self.pods = DefaultScheduler(self._cluster, registry=registry, explanations=explanations)
        self._cluster.listeners[default.NAME] = self.pods

    def explain_pod(self, namespace: str, name: str) -> list[Explanation]:
        """What was decided about a pod, oldest first."""
        return self.pods.explain(namespace, name)

    async def run(self) -> None:
        """Gives pods nodes until cancelled."""
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self._cluster.informers.run())
            await self._cluster.informers.synced()
            tasks.create_task(self.pods.run())


async def run(
    client: Client,
    *,
    clock: Clock,
    rng: random.Random,
    registry: Registry | None = None,
    explanations: Explanations | None = None,
) -> None:
    """Gives pods nodes until cancelled."""
    await Schedulers(client, clock=clock, rng=rng, registry=registry, explanations=explanations).run()
