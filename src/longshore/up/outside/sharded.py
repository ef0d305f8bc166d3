"""Runs controllers for the shards that this replica holds, and those that cannot be divided while it leads.

The controllers of a shard begin when it is taken and end when it is handed over, with all that they remember;
watches and caches are the process's, and stay. Knows nothing of HTTP, processes and signals; see
outside_process.py.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import AsyncExitStack
from typing import Final

from msgspec.structs import replace

from longshore.client import Client
from longshore.machinery.events.traffic import Traffic
from longshore.machinery.fence import Fence
from longshore.machinery.informers.followed_selection import FollowedSelection
from longshore.machinery.queues.queue_metrics import QueueMetrics
from longshore.machinery.sharding.division import Division
from longshore.machinery.sharding.replica import Holding, Replica
from longshore.machinery.sharding.unbroken_fence import UnbrokenFence
from longshore.plane import controllers
from longshore.plane.supervising import cancelled
from longshore.plane.wiring import Shard, Wiring
from longshore.up.outside import leading
from longshore.up.outside.settings import Settings

DIVISIBLE: Final = frozenset((
    "cronjob", "job", "ttl", "volcano-cronjob", "volcano-gc", "volcano-job", "volcano-jobflow",
    "volcano-podgroup",
))  # fmt: skip
"""Controllers that look at each object by itself, all of it in one namespace."""


async def work(
    client: Client,
    leader_client: Client,
    settings: Settings,
    wiring: Wiring,
    *,
    election_client: Client,
    fence: UnbrokenFence,
    leader_fence: Fence,
    identity: str,
    started: Callable[[], object],
    waiting: Callable[[str], object],
) -> None:
    """Runs until cancelled; then all Leases are handed back. Raises `election.LeadershipLost`.

    What is written for shards goes through `client`, which must ask `fence`; the rest through
    `leader_client`, which must ask `leader_fence`. `started` is called when the first shard is looked after;
    `waiting`, with the reason, when this replica may do nothing.
    """
    shards = _Shards(client, settings, wiring, started)
    replica = Replica(
        election_client,
        shards.look_after,
        namespace=settings.lease_namespace,
        group=settings.lease,
        identity=identity,
        division=shards.division,
        fence=fence,
        clock=wiring.clock,
        rng=wiring.rng,
        registry=wiring.registry,
        waiting=waiting,
    )
    indivisible = tuple(name for name in settings.controllers if name not in DIVISIBLE)
    async with AsyncExitStack() as stack:
        stack.push_async_callback(shards.cool_down)
        tasks = [asyncio.create_task(replica.run(), name="shards")]
        if indivisible:
            leader = leading.work(
                leader_client,
                replace(settings, controllers=indivisible),
                wiring,
                election_client=election_client,
                fence=leader_fence,
                identity=identity,
                started=lambda: None,
                waiting=lambda holder: None,
            )
            tasks.append(asyncio.create_task(leader, name="what cannot be divided"))
        stack.push_async_callback(cancelled, tasks)
        await asyncio.gather(*tasks)


class _Shards:
    """The controllers of each shard that is held."""

    def __init__(
        self, client: Client, settings: Settings, wiring: Wiring, started: Callable[[], object]
    ) -> None:
        self.division = Division(settings.shards, settings.shard_by)
        self._client, self._wiring = client, wiring
        self._names = tuple(name for name in settings.controllers if name in DIVISIBLE)
        self._gauges: dict[str, QueueMetrics] = {}
        self._traffic: dict[str, Traffic] = {}
        self._warm: dict[FollowedSelection, asyncio.Task[None]] = {}
        self._started: Callable[[], object] | None = started

    async def look_after(self, holding: Holding) -> None:
        """Runs the controllers of a shard until cancelled. They see all that its last holder wrote."""
        await self._wiring.informers.caught_up()
        shard = Shard(holding.gate, self._only(holding.shard), self._gauges, self._traffic)
        tasks = controllers.start(self._names, self._client, replace(self._wiring, shard=shard))
        tasks.append(asyncio.create_task(self._stay_warm()))
        try:
            await asyncio.gather(*tasks)
        finally:
            await cancelled(tasks)

    async def cool_down(self) -> None:
        await cancelled([*self._warm.values()])

    def _only(self, shard: int) -> Callable[[str], bool] | None:
        division = self.division
        if division.by == "object":
            return None
        return lambda namespace: division.of_namespace(namespace) == shard

    async def _stay_warm(self) -> None:
        """Keeps what controllers follow, so that the next shard finds its caches filled."""
        await leading.filled(self._wiring)
        for watch in self._wiring.informers.watches():
            if watch not in self._warm:
                self._warm[watch] = asyncio.create_task(watch.run(), name=f"following {watch.name}")
        started, self._started = self._started, None
        if started is not None:
            started()
