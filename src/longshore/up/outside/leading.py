"""Runs controllers on a client while this process holds the Lease, or without end if there is no Lease.

Knows nothing of HTTP, processes and signals; see outside_process.py.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import AsyncExitStack

from longshore.client import Client
from longshore.machinery.election import Election
from longshore.machinery.events.recorder import Recorder
from longshore.machinery.fence import Fence
from longshore.plane import controllers, scheduling
from longshore.plane.supervising import cancelled
from longshore.plane.wiring import Wiring
from longshore.up.outside.health import Health
from longshore.up.outside.settings import Settings


async def work(
    client: Client,
    settings: Settings,
    wiring: Wiring,
    *,
    election_client: Client,
    fence: Fence,
    identity: str,
    started: Callable[[], object],
    waiting: Callable[[str], object],
) -> None:
    """Runs until cancelled; then the Lease is handed back. Raises `election.LeadershipLost`, and no sync of a
    controller goes on after that.

    `election_client` has connections of its own: a renewal never waits behind the controllers' requests.
    `fence` hears of each renewal; whoever made `client` lets no write pass without it.
    `started` is called when the controllers are, and their caches are filled; `waiting`, with the holder,
    when the Lease is another's.
    """

    async def lead() -> None:
        async with AsyncExitStack() as stack:
            telling = asyncio.create_task(_tell_when_filled(wiring, started))
            stack.push_async_callback(cancelled, [telling])
            await _controllers(client, settings, wiring)

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


async def _controllers(client: Client, settings: Settings, wiring: Wiring) -> None:
    tasks = controllers.start(settings.controllers, client, wiring)
    if settings.schedulers:
        gangs = settings.scheduler_conf or settings.scheduler_actions
        tasks += scheduling.start(client, wiring, gangs, settings.schedulers)
    try:
        await asyncio.gather(*tasks)
    finally:
        await cancelled(tasks)


async def _tell_if_waiting(election: Election, wiring: Wiring, waiting: Callable[[str], object]) -> None:
    """Says once that another leads: a process that seems to do nothing should say why."""
    while not election.leader:
        await wiring.clock.sleep(1.0)
    if not election.is_leader:
        waiting(election.leader)


async def _tell_when_filled(wiring: Wiring, started: Callable[[], object]) -> None:
    await filled(wiring)
    started()


async def filled(wiring: Wiring) -> None:
    """Waits until something is followed and all caches are filled."""
    health = Health(wiring.informers, None)
    while not health.filled:
        await wiring.clock.sleep(0.05)
