"""One running longshore, from an open store to a listening server, and back down in the opposite order."""

from __future__ import annotations

import asyncio
import errno
import random
import ssl
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from longshore.apiserver.access.tokens import Tokens
from longshore.apiserver.api import Api
from longshore.apiserver.event_expiry import expire_events
from longshore.apiserver.http.server import HttpServer
from longshore.client import Client
from longshore.client.local import LocalClient
from longshore.machinery.time.clock import RealClock
from longshore.node.preparing.types import Server
from longshore.node.serving.node_access import Door
from longshore.store.lock import DataDirLock
from longshore.store.store import Store
from longshore.up import (
    bootstrap,
    controllers,
    failed_pods,
    files,
    kubeconfig,
    node,
    pki,
    scheduling,
    secrets,
    why_page,
)
from longshore.up.options import Options

HOST = "127.0.0.1"
"""Loopback only: whoever can log in may do everything, once there is a node even start processes."""
_RENEWAL_SECONDS = 24 * 3600.0


class PortBusy(Exception):
    """Another process listens on this port. Pass --port 0 for any free one, or another --port."""

    def __init__(self, port: int) -> None:
        super().__init__(
            f"port {port} on {HOST} is taken by another process; "
            "pass --port 0 for any free one, or another --port"
        )


@dataclass(frozen=True, slots=True)
class Longshore:
    """What the outside may know of a running longshore."""

    server: str
    kubeconfig: Path
    client: Client
    """Talks to it without HTTP, from the same event loop."""
    api: Api


@asynccontextmanager
async def running(options: Options) -> AsyncIterator[Longshore]:
    """Starts a longshore and stops it at the end of the block.

    Raises `store.StoreError`, `files.UnfitDirectory`, `pki.BrokenPki` or `PortBusy` if it cannot start.
    """
    async with AsyncExitStack() as stack:
        directory = stack.enter_context(files.data_dir(options.data_dir, temporary=options.in_memory))
        store = _store(options, directory, stack)
        certificates = pki.ensure(directory / "pki", _now())
        tls = _tls(certificates)
        clock, rng = RealClock(), random.Random()
        api = Api(store, clock=clock, rng=rng)
        own = secrets.ensure(directory)
        api.tokens = Tokens(store, admin_token=own.admin_token, key=own.signing_key, clock=clock.timestamp)
        client = LocalClient(api)
        client.shared = {}
        await bootstrap.objects(client)
        http = HttpServer(api, tls=tls)
        stack.push_async_callback(http.close)
        try:
            port = await http.start(HOST, options.port)
        except OSError as err:
            if err.errno == errno.EADDRINUSE:
                raise PortBusy(options.port) from None
            raise
        await bootstrap.service(client, HOST, port)
        url, config = f"https://{HOST}:{port}", directory / "kubeconfig"
        kubeconfig.write(config, server=url, pki=certificates, token=own.admin_token)

        def renewed(fresh: pki.Pki) -> None:
            tls.load_cert_chain(fresh.server)
            kubeconfig.write(config, server=url, pki=fresh, token=own.admin_token)

        names = options.controllers if options.controllers is not None else _all_controllers(options)
        wiring = controllers.Wiring(
            clock, rng, certificates.ca_cert.read_text(), volumes=directory / "volumes"
        )
        api.pages[why_page.PREFIX] = why_page.page(wiring.explain)
        api.collectors.append(wiring.registry)
        tasks = controllers.start(names, client, wiring)
        if options.scheduler:
            tasks += scheduling.start(client, wiring, options.scheduler_actions)
        tasks.append(asyncio.create_task(expire_events(api), name="event expiry"))
        tasks.append(asyncio.create_task(_renew(directory / "pki", renewed), name="certificate renewal"))
        stack.push_async_callback(_cancel, tasks)
        if options.node:

            def show(door: Door) -> None:
                api.door = door
                api.pages[failed_pods.PREFIX] = failed_pods.page(door.archive)

            server = Server(HOST, port, certificates.ca_cert.read_text())
            place = node.Place(directory / "node", server, show)
            stack.push_async_callback(_cancel, [await node.start(client, wiring, options, place)])
        yield Longshore(url, config, client, api)


def _all_controllers(options: Options) -> tuple[str, ...]:
    """Without a node there is nowhere to keep volumes: whoever brings the nodes brings their storage."""
    return tuple(name for name in controllers.CONTROLLERS if options.node or name != "volume")


def _store(options: Options, directory: Path, stack: AsyncExitStack) -> Store:
    if options.in_memory:
        lock = DataDirLock(directory)  # the kubeconfig in it must be of one longshore only
        stack.callback(lock.release)
        store = Store.open(None)
    else:
        store = Store.open(directory, durability=options.durability)
    stack.push_async_callback(store.close)
    return store


def _tls(certificates: pki.Pki) -> ssl.SSLContext:
    """The server's side: asks for a client certificate, and takes only those of the own authority."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.load_cert_chain(certificates.server)
    context.load_verify_locations(certificates.ca_cert)
    context.verify_mode = ssl.CERT_OPTIONAL
    context.set_alpn_protocols(["http/1.1"])
    return context


async def _renew(directory: Path, renewed: Callable[[pki.Pki], None]) -> None:
    """Renews certificates of a longshore that runs for months; new connections get the new one."""
    while True:
        await asyncio.sleep(_RENEWAL_SECONDS)
        fresh = pki.ensure(directory, _now())
        if fresh.renewed:
            renewed(fresh)


async def _cancel(tasks: list[asyncio.Task[None]]) -> None:
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


def _now() -> datetime:
    return datetime.now(UTC)
