"""Runs the schedulers of one process on one ledger. `gangs` says what the gang scheduler does in a cycle."""

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
from longshore.scheduler.gang import scheduler
from longshore.scheduler.gang.scheduler import GangScheduler
from longshore.scheduler.gang.settings import Settings


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
        gangs: Settings | None = None,
    ) -> None:
        self._cluster = Cluster(client, clock=clock, rng=rng)
        self.pods = DefaultScheduler(self._cluster, registry=registry, explanations=explanations)
        self._cluster.listeners[default.NAME] = self.pods
        self.gangs = GangScheduler(self._cluster, settings=gangs, registry=registry)
        self._cluster.listeners[scheduler.NAME] = self.gangs

    def explain_pod(self, namespace: str, name: str) -> list[Explanation]:
        """What was decided about a pod, oldest first."""
        return self.pods.explain(namespace, name) or self.gangs.explain(namespace, name)

    def explain_group(self, namespace: str, name: str) -> list[Explanation]:
        """What was decided about a gang, oldest first."""
        return self.gangs.explain_group(namespace, name)

    async def run(self) -> None:
        """Gives pods nodes until cancelled."""
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self._cluster.informers.run())
            await self._cluster.informers.synced()
            tasks.create_task(self.pods.run())
            tasks.create_task(self.gangs.run())


async def run(
    client: Client,
    *,
    clock: Clock,
    rng: random.Random,
    registry: Registry | None = None,
    explanations: Explanations | None = None,
    gangs: Settings | None = None,
) -> None:
    """Gives pods nodes until cancelled."""
    await Schedulers(
        client, clock=clock, rng=rng, registry=registry, explanations=explanations, gangs=gangs
    ).run()
