"""`longshore controllers` in a terminal or a container: connects, prints one ready line, and stops at a
signal.

A process that loses the Lease ends with an error, as kube-controller-manager does: its supervisor starts
it again, and nothing it remembered can do harm.
"""

from __future__ import annotations

import asyncio
import contextlib
import random
import socket
import sys
import uuid
from collections.abc import Callable, Coroutine
from typing import TYPE_CHECKING, Any, NamedTuple

from msgspec.structs import replace

from longshore import __version__
from longshore.client import CredentialsError, Unreachable
from longshore.client.config.connection import Connection, from_kubeconfig
from longshore.client.http import HttpClient, posting
from longshore.client.http.trimmed_objects import FOR_CONTROLLERS
from longshore.machinery.fence import Fence
from longshore.machinery.queues.backoff import Backoff
from longshore.machinery.queues.retry_limiter import RetryLimiter
from longshore.machinery.reason_book import Untold
from longshore.machinery.sharding import replica
from longshore.machinery.sharding.unbroken_fence import UnbrokenFence
from longshore.machinery.time.clock import RealClock
from longshore.plane.supervising import cancelled
from longshore.plane.wiring import Wiring, informers_of
from longshore.up import logs, spare_memory, startup, stop_signals
from longshore.up.foreground import event_loop
from longshore.up.keys import RsaKeys
from longshore.up.local_zone import local_zone
from longshore.up.outside import leading, metrics, sharded
from longshore.up.outside.event_reasons import EventReasons
from longshore.up.outside.health import Health
from longshore.up.outside.settings import Settings

if TYPE_CHECKING:
    from longshore.up.webhooks.webhook_service import WebhookService

MANAGER = "longshore-controllers"


class Refused(Exception):
    """The API server does not know these credentials."""

    def __init__(self, server: str) -> None:
        super().__init__(f"{server} does not accept the credentials of this kubeconfig (401 Unauthorized)")


class Fences(NamedTuple):
    leader: Fence
    shards: UnbrokenFence | None
    """None where nothing is divided."""

    @property
    def first(self) -> Fence:
        """The fence of most writes."""
        return self.shards or self.leader


class Clients(NamedTuple):
    working: HttpClient
    leading: HttpClient
    """For controllers that cannot be divided."""
    election: HttpClient


def run(settings: Settings) -> None:
    """Runs until a signal. Raises `client.ConfigError`, `Refused`, `election.LeadershipLost`, OSError when
    the metrics' port is taken, or `CannotServe` when that of the webhooks is."""
    logs.configure(settings.logging)
    connection = from_kubeconfig(settings.kubeconfig, settings.context)
    settings = replace(settings, lease_namespace=settings.lease_namespace or connection.namespace)
    startup.rest_collector()
    spare_memory.keep_together()
    with asyncio.Runner(loop_factory=event_loop) as runner:
        runner.run(_until_stopped(connection, settings))


async def _until_stopped(connection: Connection, settings: Settings) -> None:
    clock, rng = RealClock(), random.Random()
    async with contextlib.AsyncExitStack() as stack:
        fences = Fences(Fence(clock), replica.fence(clock) if settings.shards else None)
        clients = await _clients(stack, connection, fences, settings)
        client = clients.working
        reasons = EventReasons(client, clock, rng) if settings.keep_reasons else Untold()
        wiring = Wiring(
            clock,
            rng,
            informers_of(client, settings.controllers, clock=clock, rng=rng, resync=settings.limits.resync),
            zone=local_zone(),
            keys=RsaKeys(),
            namespace=settings.namespace,
            managed_by=settings.managed_by,
            gathers_ends=True,
            limits=settings.limits,
            reasons=reasons,
            post=posting.post,
        )
        webhooks = await _webhooks(stack, connection, settings, wiring) if settings.webhooks else None
        others = [] if webhooks is None else [webhooks.ready]
        health = Health(wiring.informers, fences.first if settings.leader_elect else None, *others)
        if settings.metrics is not None:
            await stack.enter_async_context(metrics.served(wiring.registry, health, *settings.metrics))
        if isinstance(reasons, EventReasons):
            keeping = asyncio.create_task(reasons.run(), name="reasons")
            stack.push_async_callback(cancelled, [keeping])
        sparing = asyncio.create_task(spare_memory.give_back(clock), name="free memory")
        stack.push_async_callback(cancelled, [sparing])
        work = _work(clients, fences, connection.server, settings, wiring)
        working = asyncio.create_task(work if webhooks is None else _both(work, webhooks.run()))
        stop_signals.on_signal(working.cancel)
        with contextlib.suppress(asyncio.CancelledError):
            await working


async def _clients(
    stack: contextlib.AsyncExitStack, connection: Connection, fences: Fences, settings: Settings
) -> Clients:
    """Each with connections of its own, so that no renewal waits behind other requests."""

    trimmed = None if settings.schedulers else FOR_CONTROLLERS
    turns = RetryLimiter(RealClock(), settings.qps, settings.burst) if settings.qps else None

    async def client(fence: Fence | None, pace: Callable[[], float] | None = None) -> HttpClient:
        check = None if fence is None else fence.check
        made = HttpClient(connection, manager=MANAGER, fence=check, trimmed=trimmed, pace=pace)
        return await stack.enter_async_context(made)

    pace = None if turns is None else turns.pause
    working = await client(fences.first if settings.leader_elect else None, pace)
    leading = await client(fences.leader, pace) if settings.shards else working
    return Clients(working, leading, await client(None))


async def _webhooks(
    stack: contextlib.AsyncExitStack, connection: Connection, settings: Settings, wiring: Wiring
) -> WebhookService:
    """With connections and a fence of its own: the Lease for certificates is another one."""
    from longshore.up.webhooks.webhook_service import WebhookService  # loads the library of certificates

    assert settings.webhooks is not None
    fence = Fence(wiring.clock)
    reading = await stack.enter_async_context(HttpClient(connection, manager=MANAGER))
    keeping = await stack.enter_async_context(HttpClient(connection, manager=MANAGER, fence=fence.check))
    return WebhookService(
        reading,
        keeping,
        settings.webhooks,
        name=settings.webhooks_name,
        namespace=settings.lease_namespace,
        identity=_identity(),
        fence=fence,
        clock=wiring.clock,
        rng=wiring.rng,
        registry=wiring.registry,
    )


async def _both(work: Coroutine[Any, Any, None], serving: Coroutine[Any, Any, None]) -> None:
    """Works, and serves webhooks meanwhile; whichever fails ends the other."""
    tasks = [asyncio.create_task(work), asyncio.create_task(serving, name="webhooks")]
    try:
        await asyncio.gather(*tasks)
    finally:
        await cancelled(tasks)


def _identity() -> str:
    return f"{socket.gethostname()}_{uuid.uuid4()}"


async def _work(clients: Clients, fences: Fences, server: str, settings: Settings, wiring: Wiring) -> None:
    await _reached(clients.working, server, wiring)
    lease = f"{settings.lease_namespace}/{settings.lease}"
    identity = _identity()

    def started() -> None:
        print(ready_line(server, settings), flush=True)

    if fences.shards is not None:
        await sharded.work(
            clients.working,
            clients.leading,
            settings,
            wiring,
            election_client=clients.election,
            fence=fences.shards,
            leader_fence=fences.leader,
            identity=identity,
            started=started,
            waiting=lambda why: _say(f"waiting for shards of {lease}: {why}"),
        )
    else:
        await leading.work(
            clients.working,
            settings,
            wiring,
            election_client=clients.election,
            fence=fences.leader,
            identity=identity,
            started=started,
            waiting=lambda holder: _say(f"waiting for the lease {lease}, which {holder} holds"),
        )


def ready_line(server: str, settings: Settings) -> str:
    """The one line that says which controllers run, and against which server."""
    if settings.schedulers:
        names = ", ".join(settings.schedulers)
        return f"longshore {__version__} scheduler is ready at {server}, for pods of: {names}"
    where = f" in namespace {settings.namespace}" if settings.namespace else ""
    jobs = f", for Jobs managed by {settings.managed_by}" if "job" in settings.controllers else ""
    names = ", ".join(settings.controllers)
    shards = f", in {settings.shards} shards by {settings.shard_by}" if settings.shards else ""
    return f"longshore {__version__} controllers are ready at {server}{where}: {names}{jobs}{shards}"


async def _reached(client: HttpClient, server: str, wiring: Wiring) -> None:
    """Waits until the server answers: it may be starting, too. Raises `CredentialsError`: at the start
    somebody may be looking."""
    backoff, said = Backoff(wiring.clock, wiring.rng), False
    while True:
        try:
            answer = await client.request("GET", "/version")
        except CredentialsError:
            raise
        except Unreachable as err:
            if not said:
                _say(f"{err}; trying again")
                said = True
            await wiring.clock.sleep(backoff.next())
            continue
        if answer.code == 401:
            raise Refused(server)
        return


def _say(message: str) -> None:
    print(f"longshore: {message}", file=sys.stderr, flush=True)
