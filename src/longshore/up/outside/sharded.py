"""Runs controllers for the shard that this process holds. Indivisible controllers run with shard 0.

Knows nothing of HTTP, processes and signals; see outside_process.py.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Hashable

from msgspec.structs import replace

from longshore.client import Client
from longshore.machinery.fence import Fence
from longshore.machinery.sharding.division import Division
from longshore.machinery.sharding.replica import Holding, Replica
from longshore.plane import controllers
from longshore.plane.supervising import cancelled
from longshore.plane.wiring import Wiring
from longshore.up.outside import leading
from longshore.up.outside.settings import Settings


class OwnShard:
    """The shard of this process. While it holds none, no object belongs to it."""

    def __init__(self, settings: Settings) -> None:
        self.division = Division(settings.shards, settings.shard_by)
        self.divisible = tuple(name for name in settings.controllers if name in controllers.BY_NAMESPACE)
        self.others = tuple(name for name in settings.controllers if name not in controllers.BY_NAMESPACE)
        """Controllers that cannot be divided by namespace."""
        self.number: int | None = None

    def belongs(self, key: Hashable) -> bool:
        """Whether the object with this work queue key is in the shard."""
        return self.division.shard_of(key) == self.number

    def reads(self, namespace: str) -> bool:
        """Whether a controller of this process reads the objects of a namespace."""
        if self.division.by == "object" or (self.others and self.number == 0):
            return True
        return self.division.of_namespace(namespace) == self.number


async def work(
    client: Client,
    settings: Settings,
    wiring: Wiring,
    *,
    shard: OwnShard,
    election_client: Client,
    fence: Fence,
    identity: str,
    started: Callable[[], object],
    waiting: Callable[[str], object],
) -> None:
    """Runs until cancelled; then the Lease is handed back. Raises `election.LeadershipLost`.

    `client` must ask `fence` before each write. `started` is called when the shard's controllers work;
    `waiting`, with the reason, while this replica may do nothing.
    """

    async def look_after(holding: Holding) -> None:
        shard.number = holding.shard
        tasks = controllers.start(shard.divisible, client, replace(wiring, belongs=shard.belongs))
        if holding.shard == 0:
            tasks += controllers.start(shard.others, client, wiring)
        tasks.append(asyncio.create_task(leading.tell_when_filled(wiring, started)))
        try:
            await asyncio.gather(*tasks)
        finally:
            await cancelled(tasks)

    await Replica(
        election_client,
        look_after,
        namespace=settings.lease_namespace,
        group=settings.lease,
        identity=identity,
        division=shard.division,
        fence=fence,
        clock=wiring.clock,
        rng=wiring.rng,
        registry=wiring.registry,
        waiting=waiting,
    ).run()
