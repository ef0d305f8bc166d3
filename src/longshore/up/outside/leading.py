"""Runs controllers on a client while this process holds the Lease, or without end if there is no Lease, or
for the shard that it holds.

Knows nothing of HTTP, processes and signals; see outside_process.py.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Hashable
from contextlib import AsyncExitStack
from functools import partial

from msgspec.structs import replace

from longshore.api.defaults import volcano
from longshore.api.errors import StatusError
from longshore.client import Client, Unreachable
from longshore.machinery.background import cancelled
from longshore.machinery.election import Election
from longshore.machinery.events.recorder import Recorder
from longshore.machinery.fence import Fence
from longshore.machinery.queues.backoff import Backoff
from longshore.machinery.sharding.division import Division
from longshore.machinery.sharding.replica import Holding, Replica, until_unheld
from longshore.plane import bootstrap, controllers, scheduling
from longshore.plane.wiring import Wiring
from longshore.up.outside.health import Health
from longshore.up.outside.settings import OutsideSettings

log = logging.getLogger(__name__)


async def work(
    client: Client,
    settings: OutsideSettings,
    wiring: Wiring,
    *,
    election_client: Client,
    fence: Fence,
    identity: str,
    started: Callable[[], object],
    waiting: Callable[[str], object],
    shard: OwnShard | None = None,
) -> None:
    """Runs until cancelled; then the Lease is handed back. Raises `election.LeadershipLost`, and no sync of a
    controller goes on after that.

    `election_client` has connections of its own: a renewal never waits behind the controllers' requests.
    `fence` is notified of each renewal; `client` makes no write without it. `started` is called when the
    controllers run and their caches are filled; `waiting`, with the holder, if another process leads. With
    `shard`, the Lease is that of one shard, and `waiting` gets the reason why this replica may do nothing."""

    async def lead() -> None:
        if settings.leader_elect and not settings.shards and not settings.schedulers:
            await until_unheld(election_client, settings.lease_namespace, settings.lease, wiring.clock)
        async with AsyncExitStack() as stack:
            telling = asyncio.create_task(tell_when_filled(wiring, started))
            stack.push_async_callback(cancelled, [telling])
            await _controllers(client, settings, wiring)

    if shard is not None:
        await Replica(
            election_client,
            partial(_look_after, client, wiring, shard, started),
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
        return
    if not settings.leader_elect:
        await lead()
        return
    async with AsyncExitStack() as stack:
        recorder = Recorder(election_client, settings.lease, clock=wiring.clock, rng=wiring.rng)
        recording = asyncio.create_task(recorder.run())
        stack.push_async_callback(cancelled, [recording])
        election = Election(
            election_client,
            namespace=settings.lease_namespace,
            name=settings.lease,
            identity=identity,
            clock=wiring.clock,
            rng=wiring.rng,
            recorder=recorder,
            registry=wiring.registry,
            fence=fence,
        )
        asking = asyncio.create_task(_tell_if_waiting(election, wiring, waiting))
        stack.push_async_callback(cancelled, [asking])
        await election.lead(lead)


async def _controllers(client: Client, settings: OutsideSettings, wiring: Wiring) -> None:
    tasks = controllers.start(settings.controllers, client, wiring)
    if settings.schedulers:
        gangs = settings.scheduler_conf or settings.scheduler_actions
        tasks += scheduling.start(client, wiring, gangs, settings.schedulers)
    if volcano.SCHEDULER in settings.schedulers:
        tasks.append(asyncio.create_task(_queues(client, wiring), name="queues"))
    try:
        await asyncio.gather(*tasks)
    finally:
        await cancelled(tasks)


async def _queues(client: Client, wiring: Wiring) -> None:
    """Creates Volcano's standard queues, as Volcano's scheduler does. Retries while their definition or the
    webhooks that validate them are missing."""
    backoff = Backoff(wiring.clock, wiring.rng)
    while True:
        try:
            return await bootstrap.queues(client)
        except (StatusError, Unreachable) as err:
            log.info("the queues root and default cannot be made yet: %s", err)
        await wiring.clock.sleep(backoff.next())


async def _tell_if_waiting(election: Election, wiring: Wiring, waiting: Callable[[str], object]) -> None:
    """Reports once that another process leads: a process that seems to do nothing should say why."""
    while not election.leader:
        await wiring.clock.sleep(1.0)
    if not election.is_leader:
        waiting(election.leader)


async def tell_when_filled(wiring: Wiring, started: Callable[[], object]) -> None:
    """Calls `started` when watches have started and all caches are filled."""
    health = Health(wiring.informers, None)
    while not health.filled:
        await wiring.clock.sleep(0.05)
    started()


class OwnShard:
    """The shard of this process. While it holds none, no object belongs to it."""

    def __init__(self, settings: OutsideSettings) -> None:
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


async def _look_after(
    client: Client, wiring: Wiring, shard: OwnShard, started: Callable[[], object], holding: Holding
) -> None:
    """Runs the controllers of the shard that is held; indivisible controllers run with shard 0."""
    shard.number = holding.shard
    tasks = controllers.start(shard.divisible, client, replace(wiring, belongs=shard.belongs))
    if holding.shard == 0:
        tasks += controllers.start(shard.others, client, wiring)
    tasks.append(asyncio.create_task(tell_when_filled(wiring, started)))
    try:
        await asyncio.gather(*tasks)
    finally:
        await cancelled(tasks)
