"""One running longshore on a real machine: a plane with a data directory, TLS, HTTP and a node that runs
processes. Comes down in the opposite order.
"""

from __future__ import annotations

import asyncio
import logging
import random
import socket
import ssl
import time
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from functools import partial
from pathlib import Path

import msgspec

from longshore.api.errors import StatusError
from longshore.apiserver.access.tokens import Tokens
from longshore.apiserver.api import Api
from longshore.apiserver.http.server import HttpServer
from longshore.client import Client
from longshore.client.http import posting
from longshore.machinery.time.clock import Clock, RealClock
from longshore.node.images import images_file
from longshore.node.images.images_file import ImagesFile
from longshore.node.preparing.types import Server
from longshore.plane import bootstrap
from longshore.plane.controllers import CONTROLLERS
from longshore.plane.plane import Parts, Plane
from longshore.plane.supervising import cancelled
from longshore.store import file_identity
from longshore.store.errors import JournalGone, StoreError
from longshore.store.lock import DataDirLock
from longshore.store.store import Store
from longshore.up import (
    files,
    kept_figures,
    kubeconfig,
    listening,
    node,
    passed_sockets,
    pki,
    secrets,
    serving_dashboard,
    snapshots,
    spare_memory,
)
from longshore.up.keys import RsaKeys
from longshore.up.local_zone import local_zone
from longshore.up.options import Options
from longshore.up.volume_directories import LocalDirectories

HOST = listening.LOOPBACK

log = logging.getLogger(__name__)
_RENEWAL_SECONDS = 24 * 3600.0


class Longshore(msgspec.Struct, frozen=True):
    """The public face of a running longshore."""

    server: str
    elsewhere: tuple[str, ...]
    """The server's addresses for other machines, if it has any."""
    kubeconfig: Path
    client: Client
    """Talks to it without HTTP, from the same event loop."""
    api: Api


@asynccontextmanager
async def running(options: Options, passed: Sequence[socket.socket] = ()) -> AsyncIterator[Longshore]:
    """Starts a longshore and stops it at the end of the block. `passed` are sockets of a service manager.

    Raises `store.StoreError`, `files.UnfitDirectory`, `image_table.BadImages`, `pki.BrokenPki` or
    `listening.CannotListen` if it cannot start.
    """
    async with AsyncExitStack() as stack:
        directory = stack.enter_context(files.data_dir(options.data_dir, temporary=options.in_memory))
        clock = RealClock()
        images = ImagesFile(options.images or _images(options))
        store = _store(options, directory, stack)
        names = listening.names(options.listen, options.tls_names)
        certificates = pki.ensure(directory / "pki", clock.now(), names)
        tls = _tls(certificates)
        own = secrets.ensure(directory)
        plane = Plane(
            Parts(
                store,
                clock,
                random.Random(),
                local_zone(),
                RsaKeys(),
                controllers=options.controllers if options.controllers is not None else _controllers(options),
                scheduler=options.scheduler,
                workloads=options.workloads,
                gang_settings=options.scheduler_conf or options.scheduler_actions,
                volumes=LocalDirectories(directory / "volumes"),
                ca=certificates.ca_cert.read_text(),
                shortcuts=options.shortcuts,
                limits=options.limits,
                retention=options.retention,
                post=posting.post,
            )
        )
        api = plane.api
        api.tokens = Tokens(store, admin_token=own.admin_token, key=own.signing_key, clock=clock.timestamp)
        api.pages[kept_figures.PREFIX] = kept_figures.page(store, options.retention)
        if not options.in_memory:
            snapshots.serve(api, directory)
        with _told_by_the_store():
            await plane.prepare()
        http = HttpServer(api, tls=tls, dashboard=serving_dashboard.serve(api, api.tokens, directory, clock))
        stack.push_async_callback(http.close)
        wanted = passed_sockets.port_of(passed, options.listen, options.port)
        port = await listening.start(http, options.listen, wanted, passed)
        with _told_by_the_store():
            await bootstrap.service(plane.client, HOST, port)
        url, config = f"https://{HOST}:{port}", directory / "kubeconfig"
        kubeconfig.write(config, server=url, pki=certificates, token=own.admin_token)

        def renewed(fresh: pki.Pki) -> None:
            tls.load_cert_chain(fresh.server)
            kubeconfig.write(config, server=url, pki=fresh, token=own.admin_token)

        renewal = asyncio.create_task(
            _renew(directory / "pki", names, renewed, clock), name="certificate renewal"
        )
        watching = asyncio.create_task(_watch_journal(store, clock), name="watch of the journal")
        trimming = asyncio.create_task(spare_memory.give_back(clock), name="spare memory")
        stack.push_async_callback(cancelled, [renewal, watching, trimming])
        place = node.Place(directory / "node", Server(HOST, port, plane.parts.ca), images)
        run_node = partial(node.run, options, place) if options.node else None
        await stack.enter_async_context(plane.running(run_node))
        elsewhere = tuple(listening.url(name, port) for name in names) if options.listen else ()
        yield Longshore(url, elsewhere, config, plane.client, api)


@contextmanager
def _told_by_the_store() -> Iterator[None]:
    """Raises the store's own error for a write that it could not make: a full disk is no bug."""
    try:
        yield
    except StatusError as err:
        if isinstance(err.__cause__, StoreError):
            raise err.__cause__ from None
        raise


def _controllers(options: Options) -> tuple[str, ...]:
    """Without a node there is nowhere to keep volumes: whoever brings the nodes brings their storage."""
    return tuple(name for name in CONTROLLERS if options.node or name != "volume")


def _images(options: Options) -> Path:
    """A longshore in memory has the images of the usual directory, as people say there what images mean."""
    return (options.data_dir or files.default_data_dir()).expanduser() / images_file.NAME


def _store(options: Options, directory: Path, stack: AsyncExitStack) -> Store:
    if options.in_memory:
        lock = DataDirLock(directory)  # the kubeconfig in it must be of one longshore only
        stack.callback(lock.release)
        # By the clock: clients of the longshore before find their versions too old, and not far ahead.
        store = Store.open(None, retention=options.retention, revision=time.time_ns() // 1000)
    else:
        store = Store.open(directory, durability=options.durability, retention=options.retention)
    stack.push_async_callback(store.close)
    return store


def _tls(certificates: pki.Pki) -> ssl.SSLContext:
    """The server's side: asks for a client certificate, and takes only those of longshore's own authority."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.load_cert_chain(certificates.server)
    context.load_verify_locations(certificates.ca_cert)
    context.verify_mode = ssl.CERT_OPTIONAL
    context.set_alpn_protocols(["http/1.1"])
    context.num_tickets = 1  # a client resumes with one; OpenSSL's two take 0.05 ms more
    return context


async def _watch_journal(store: Store, clock: Clock) -> None:
    """Says at once that the journal's files are gone; the store refuses writes by itself."""
    known: Path | None = None
    while True:
        await clock.sleep(file_identity.LOOK_SECONDS)
        missing = store.missing_file
        if missing is not None and known is None:
            log.error("%s", JournalGone(str(missing)))
        elif missing is None and known is not None:
            log.warning("%s is there again, and writes are taken again", known)
        known = missing


async def _renew(
    directory: Path, names: tuple[str, ...], renewed: Callable[[pki.Pki], None], clock: Clock
) -> None:
    """Renews certificates of a longshore that runs for months; new connections get the new one. What fails,
    on a full disk say, is tried again the next day: weeks are left when a renewal is due."""
    is_owed = False
    while True:
        await clock.sleep(_RENEWAL_SECONDS)
        try:
            fresh = pki.ensure(directory, clock.now(), names)
            is_owed = is_owed or fresh.renewed
            if is_owed:
                renewed(fresh)
                is_owed = False
        except (OSError, pki.BrokenPki) as err:
            log.warning("cannot renew the certificates, trying again tomorrow: %s", err)
