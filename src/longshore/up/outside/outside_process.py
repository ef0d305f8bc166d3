"""`longshore controllers` in a terminal or a container: connects, prints one ready line, and stops at a
signal.

A process that loses the Lease ends with an error, as kube-controller-manager does: its supervisor starts
it again, and nothing it remembered can do harm.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import random
import socket
import sys
import uuid
from collections.abc import AsyncIterator, Coroutine, Mapping
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from msgspec.structs import replace

from longshore import __version__
from longshore.api.errors import StatusError
from longshore.api.facts import kinds
from longshore.api.facts.kinds import Kind
from longshore.api.metrics import Registry
from longshore.apiserver.http.begun import Begun, Ready
from longshore.apiserver.http.listener import Listener
from longshore.apiserver.http.request import Request
from longshore.apiserver.http.response import Reply
from longshore.apiserver.http.timeouts import Timeouts
from longshore.client import Client, CredentialsError, Unreachable
from longshore.client.config.connection import Connection, from_kubeconfig
from longshore.client.http import HttpClient
from longshore.client.projection import Projection
from longshore.machinery.background import cancelled
from longshore.machinery.fence import Fence
from longshore.machinery.informers.informer import Informers
from longshore.machinery.queues.backoff import Backoff, RetryLimiter
from longshore.machinery.reason_book import Tellers, Untold
from longshore.machinery.records import Record
from longshore.machinery.sharding import replica
from longshore.machinery.time.clock import Clock, RealClock
from longshore.plane.controllers import reads_of
from longshore.plane.wiring import FOLLOWED_WHOLE, Wiring
from longshore.up import foreground, logs, spare_memory, startup
from longshore.up.keys import RsaKeys
from longshore.up.local_zone import local_zone
from longshore.up.options import shortcuts_are_on
from longshore.up.outside import leading
from longshore.up.outside.health import TEXT, Health, OpenFront, page
from longshore.up.outside.settings import OutsideSettings
from longshore.why import reason_events

if TYPE_CHECKING:
    from longshore.up.webhooks.webhook_service import WebhookService

MANAGER = "longshore-controllers"


class CredentialsRefused(Exception):
    """The API server does not know these credentials."""

    def __init__(self, server: str) -> None:
        super().__init__(f"{server} does not accept the credentials of this kubeconfig (401 Unauthorized)")


class Clients(NamedTuple):
    working: HttpClient
    election: HttpClient


def run(settings: OutsideSettings) -> None:
    """Runs until a signal. Raises `client.ConfigError`, `CredentialsRefused` or `election.LeadershipLost`,
    OSError if the port of the metrics is taken, or `CannotServe` if that of the webhooks is."""
    logs.configure(settings.logging)
    connection = from_kubeconfig(settings.kubeconfig, settings.context)
    settings = replace(settings, lease_namespace=settings.lease_namespace or connection.namespace)
    startup.rest_collector()
    spare_memory.keep_together()
    foreground.run_to_end(_until_stopped(connection, settings))


async def _until_stopped(connection: Connection, settings: OutsideSettings) -> None:
    clock, rng = RealClock(), random.Random()
    async with contextlib.AsyncExitStack() as stack:
        shard = leading.OwnShard(settings) if settings.shards else None
        fence = replica.fence(clock) if shard else Fence(clock)
        reads = FOLLOWED_WHOLE if settings.schedulers else reads_of(settings.controllers)
        clients = await _clients(stack, connection, fence, shard, reads, settings)
        client = clients.working
        reasons = EventReasons(client, clock, rng) if settings.keep_reasons else Untold()
        wiring = Wiring(
            clock,
            rng,
            Informers(client, clock=clock, rng=rng, resync=settings.limits.resync, reads=reads),
            zone=local_zone(),
            keys=RsaKeys(),
            namespace=settings.namespace,
            managed_by=settings.managed_by,
            gathers_ends=True,
            limits=settings.limits,
            reasons=reasons,
        )
        webhooks = await _webhooks(stack, connection, settings, wiring) if settings.webhooks else None
        others = [] if webhooks is None else [webhooks.ready]
        health = Health(wiring.informers, fence if settings.leader_elect else None, *others)
        health.measure(wiring.registry)
        if settings.metrics is not None:
            await stack.enter_async_context(served(wiring.registry, health, *settings.metrics))
        if isinstance(reasons, EventReasons):
            keeping = asyncio.create_task(reasons.run(), name="reasons")
            stack.push_async_callback(cancelled, [keeping])
        sparing = asyncio.create_task(spare_memory.give_back(clock), name="free memory")
        stack.push_async_callback(cancelled, [sparing])
        work = _work(clients, fence, shard, connection.server, settings, wiring)
        working = asyncio.create_task(work if webhooks is None else _both(work, webhooks.run()))
        foreground.on_signal(working.cancel)
        with contextlib.suppress(asyncio.CancelledError):
            await working


async def _clients(
    stack: contextlib.AsyncExitStack,
    connection: Connection,
    fence: Fence,
    shard: leading.OwnShard | None,
    reads: Mapping[Kind, Projection],
    settings: OutsideSettings,
) -> Clients:
    """Makes the clients, each with connections of its own, so that no renewal waits behind other requests."""
    turns = RetryLimiter(RealClock(), settings.qps, settings.burst) if settings.qps else None

    working = HttpClient(
        connection,
        manager=MANAGER,
        fence=fence.check if settings.leader_elect else None,
        reads=reads,
        shortcuts=shortcuts_are_on(os.environ),
        only=None if shard is None else shard.reads,
        pace=None if turns is None else turns.pause,
    )
    election = HttpClient(connection, manager=MANAGER)
    return Clients(await stack.enter_async_context(working), await stack.enter_async_context(election))


async def _webhooks(
    stack: contextlib.AsyncExitStack, connection: Connection, settings: OutsideSettings, wiring: Wiring
) -> WebhookService:
    """Makes the webhooks, with connections and a fence of their own: certificates have another Lease."""
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
    """Works and serves webhooks at the same time; if one fails, the other ends."""
    tasks = [asyncio.create_task(work), asyncio.create_task(serving, name="webhooks")]
    try:
        await asyncio.gather(*tasks)
    finally:
        await cancelled(tasks)


def _identity() -> str:
    return f"{socket.gethostname()}_{uuid.uuid4()}"


async def _work(
    clients: Clients,
    fence: Fence,
    shard: leading.OwnShard | None,
    server: str,
    settings: OutsideSettings,
    wiring: Wiring,
) -> None:
    await _reached(clients.working, server, wiring)
    lease = f"{settings.lease_namespace}/{settings.lease}"

    def started() -> None:
        print(ready_line(server, settings), flush=True)

    def waiting(why: str) -> None:
        _say(
            f"waiting for a shard of {lease}: {why}"
            if shard is not None
            else f"waiting for the lease {lease}, which {why} holds"
        )

    await leading.work(
        clients.working,
        settings,
        wiring,
        election_client=clients.election,
        fence=fence,
        identity=_identity(),
        started=started,
        waiting=waiting,
        shard=shard,
    )


def ready_line(server: str, settings: OutsideSettings) -> str:
    """The line that says which controllers run, and against which server."""
    if settings.schedulers:
        names = ", ".join(settings.schedulers)
        return f"longshore {__version__} scheduler is ready at {server}, for pods of: {names}"
    where = f" in namespace {settings.namespace}" if settings.namespace else ""
    jobs = f", for Jobs managed by {settings.managed_by}" if "job" in settings.controllers else ""
    names = ", ".join(settings.controllers)
    shards = f", in {settings.shards} shards by {settings.shard_by}" if settings.shards else ""
    return f"longshore {__version__} controllers are ready at {server}{where}: {names}{jobs}{shards}"


async def _reached(client: HttpClient, server: str, wiring: Wiring) -> None:
    """Waits until the server answers, because it may be starting too. Raises `CredentialsError` at once."""
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
            raise CredentialsRefused(server)
        return


def _say(message: str) -> None:
    print(f"longshore: {message}", file=sys.stderr, flush=True)


# `/metrics`, `/healthz` and `/readyz` of controllers outside. Plain HTTP: none of them holds a secret.


@asynccontextmanager
async def served(registry: Registry, health: Health, address: str, port: int) -> AsyncIterator[None]:
    """Listens while the block runs. Raises OSError if the port is taken."""
    listener = Listener(lambda: _Pages(registry, health), tls=None, timeouts=Timeouts())
    try:
        await listener.start(address, port)
        yield
    finally:
        await listener.close()


class _Pages(OpenFront):
    """Serves three pages, for any method and without credentials."""

    def __init__(self, registry: Registry, health: Health) -> None:
        self._registry, self._health = registry, health

    def begin(self, request: Request) -> Begun:
        path = request.target.partition("?")[0]
        if path == "/metrics":
            return Ready(Reply(200, "text/plain; version=0.0.4", self._registry.text()))
        if path in ("/healthz", "/readyz"):
            checks = self._health.healthy() if path == "/healthz" else self._health.ready()
            code, text = page(checks)
            return Ready(Reply(code, TEXT, text))
        return Ready(Reply(404, TEXT, b"404 page not found\n"))


# Reasons of controllers outside, where no longshore has a store, are Events of the cluster. At most 50 a
# second are written, and at most a hundred wait; more are dropped, as is what the server refuses.

_PER_SECOND: Final = 50
_MAX_WAITING: Final = 100

log = logging.getLogger(__name__)


class EventReasons(Tellers):
    """Writes reasons as Events. `run` it beside the controllers."""

    def __init__(self, client: Client, clock: Clock, rng: random.Random) -> None:
        self.dropped = 0
        """Reasons that were dropped because too many waited."""
        self._client, self._clock, self._rng = client, clock, rng
        self._waiting: list[Record] = []
        self._any = asyncio.Event()
        self._last_micros = 0

    def note(self, record: Record) -> None:
        if len(self._waiting) >= _MAX_WAITING:
            self.dropped += 1
            return
        self._waiting.append(record)
        self._any.set()

    async def run(self) -> None:
        """Writes until cancelled."""
        while True:
            await self._any.wait()
            these, self._waiting = self._waiting[:_PER_SECOND], self._waiting[_PER_SECOND:]
            if not self._waiting:
                self._any.clear()
            for record in these:
                await self._write(record)
            await self._clock.sleep(1.0)

    def _name(self, record: Record) -> str:
        """A name that no other process chooses. Names sort in the order of the records, as lists do."""
        self._last_micros = max(int(record.at * 1e6), self._last_micros + 1)
        return f"longshore.{self._last_micros:014x}.{self._rng.getrandbits(32):08x}"

    async def _write(self, record: Record) -> None:
        event = reason_events.event_of(record, self._name(record))
        try:
            await self._client.create(kinds.EVENTS, event, event["metadata"]["namespace"])
        except (StatusError, Unreachable) as err:
            log.debug("a reason of %s/%s is not kept: %s", record.kind, record.name, err)
