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
from secrets import token_urlsafe
from typing import Final

import msgspec

from longshore.api import resources
from longshore.api.errors import StatusError
from longshore.api.types import Obj
from longshore.apiserver.access.browser_sessions import CODE_SECONDS, BrowserSessions
from longshore.apiserver.access.tokens import Tokens
from longshore.apiserver.api import Api, ApiParts
from longshore.apiserver.documents import own_group
from longshore.apiserver.documents.own_group import MadeDocument
from longshore.apiserver.http import dashboard
from longshore.apiserver.http.server import HttpServer
from longshore.apiserver.request.call import Call
from longshore.client import Client
from longshore.machinery.background import cancelled
from longshore.machinery.time.clock import Clock, RealClock
from longshore.node.images import images_file
from longshore.node.images.images_file import ImagesFile
from longshore.node.preparing.types import Server
from longshore.plane import bootstrap
from longshore.plane.controllers import CONTROLLERS
from longshore.plane.plane import Parts, Plane
from longshore.store import file_identity
from longshore.store.errors import JournalGone, StoreError
from longshore.store.lock import DataDirLock
from longshore.store.store import Store
from longshore.ui import bundle
from longshore.up import (
    files,
    kubeconfig,
    listening,
    machine,
    node,
    node_name,
    own_certificates,
    own_pages,
    secrets,
    snapshots,
    spare_memory,
)
from longshore.up.files import write_private
from longshore.up.keys import RsaKeys
from longshore.up.local_zone import local_zone
from longshore.up.node import LocalDirectories
from longshore.up.options import Options

HOST = listening.LOOPBACK

log = logging.getLogger(__name__)
_RENEWAL_SECONDS = 24 * 3600.0


class Longshore(msgspec.Struct, frozen=True):
    """The parts of a running longshore that callers use."""

    server: str
    elsewhere: tuple[str, ...]
    """The server's URLs for other machines, if it has any."""
    kubeconfig: Path
    client: Client
    """A client without HTTP, for the same event loop."""
    api: Api
    node_name: str
    """The name of the node here; empty if this longshore runs no node."""


@asynccontextmanager
async def running(options: Options, passed: Sequence[socket.socket] = ()) -> AsyncIterator[Longshore]:
    """Starts a longshore and stops it at the end of the block. `passed` are sockets of a service manager.

    Raises `store.StoreError`, `files.UnfitDirectory`, `image_table.BadImages`, `own_certificates.BrokenPki`
    or `listening.CannotListen` if it cannot start."""
    async with AsyncExitStack() as stack:
        directory = stack.enter_context(files.data_dir(options.data_dir, temporary=options.in_memory))
        clock = RealClock()
        images = ImagesFile(options.images or _images(options))
        store = _store(options, directory, stack)
        names = listening.names(options.listen, options.tls_names)
        certificates = own_certificates.ensure(options.certificates or directory / "pki", clock.now(), names)
        tls = _tls(certificates)
        own = secrets.ensure(directory)
        tokens = Tokens(store, admin_token=own.admin_token, key=own.signing_key, clock=clock.timestamp)
        sessions, rng = _sessions(tokens, directory, clock), random.Random()
        copies = () if options.in_memory else (snapshots.document(store, directory),)
        api = Api(
            ApiParts(
                store,
                clock,
                rng,
                shortcuts=options.shortcuts,
                tokens=tokens,
                browser_sessions=sessions,
                documents=(_login_links(sessions), *copies),
                pages={own_pages.KEPT: own_pages.kept_page(store, options.retention)},
            )
        )
        plane = Plane(
            Parts(
                store,
                clock,
                rng,
                local_zone(),
                RsaKeys(),
                controllers=options.controllers if options.controllers is not None else _controllers(options),
                scheduler=options.scheduler,
                gang_settings=options.scheduler_conf or options.scheduler_actions,
                volumes=LocalDirectories(directory / "volumes"),
                ca=certificates.ca_cert.read_text(),
                shortcuts=options.shortcuts,
                limits=options.limits,
                retention=options.retention,
            ),
            api,
        )
        with _raising_store_errors():
            await plane.prepare()
        http = HttpServer(api, tls=tls, dashboard=lambda: dashboard.Dashboard(bundle.Bundle(), sessions))
        stack.push_async_callback(http.close)
        wanted = listening.port_of(passed, options.listen, options.port)
        port = await listening.start(http, options.listen, wanted, passed)
        with _raising_store_errors():
            await bootstrap.service(plane.client, HOST, port)
        url, config = f"https://{HOST}:{port}", directory / "kubeconfig"
        kubeconfig.write(config, server=url, pki=certificates, token=own.admin_token)

        def renewed(fresh: own_certificates.Pki) -> None:
            tls.load_cert_chain(fresh.server)
            kubeconfig.write(config, server=url, pki=fresh, token=own.admin_token)

        renewal = asyncio.create_task(
            _renew(certificates.directory, names, renewed, clock), name="certificate renewal"
        )
        watching = asyncio.create_task(_watch_journal(store, clock), name="watch of the journal")
        trimming = asyncio.create_task(spare_memory.give_back(clock), name="spare memory")
        stack.push_async_callback(cancelled, [renewal, watching, trimming])
        with _raising_store_errors():
            name = await _node_name(options, directory, plane.client)
        place = node.NodePlace(name, directory / "node", Server(HOST, port, plane.parts.ca), images)
        run_node = partial(node.run, options, place) if options.node else None
        await stack.enter_async_context(plane.running(run_node))
        elsewhere = tuple(listening.url(name, port) for name in names) if options.listen else ()
        yield Longshore(url, elsewhere, config, plane.client, api, name)


@contextmanager
def _raising_store_errors() -> Iterator[None]:
    """Raises the store's own error for a write that the store could not make: a full disk is no bug."""
    try:
        yield
    except StatusError as err:
        if isinstance(err.__cause__, StoreError):
            raise err.__cause__ from None
        raise


async def _node_name(options: Options, directory: Path, client: Client) -> str:
    if not options.node:
        return ""
    if options.in_memory:
        return options.node_name or machine.name()
    return await node_name.settle(client, directory, options.node_name)


def _controllers(options: Options) -> tuple[str, ...]:
    """All controllers; without a node not `volume`, because other nodes bring their own storage."""
    return tuple(name for name in CONTROLLERS if options.node or name != "volume")


def _images(options: Options) -> Path:
    """The default file of images, in the usual directory also for a longshore in memory."""
    return (options.data_dir or files.default_data_dir()).expanduser() / images_file.NAME


def _store(options: Options, directory: Path, stack: AsyncExitStack) -> Store:
    if options.in_memory:
        lock = DataDirLock(directory)  # the kubeconfig in it must be of one longshore only
        stack.callback(lock.release)
        # Counted from the clock, so that resourceVersions of an earlier longshore in memory are too old here.
        store = Store.open(None, retention=options.retention, revision=time.time_ns() // 1000)
    else:
        store = Store.open(directory, durability=options.durability, retention=options.retention)
    stack.push_async_callback(store.close)
    return store


def _tls(certificates: own_certificates.Pki) -> ssl.SSLContext:
    """TLS of the server: asks for a client certificate, which longshore's own authority must have signed."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.load_cert_chain(certificates.server)
    context.load_verify_locations(certificates.ca_cert)
    context.verify_mode = ssl.CERT_OPTIONAL
    context.set_alpn_protocols(["http/1.1"])
    context.num_tickets = 1  # a client resumes with one; OpenSSL's two take 0.05 ms more
    return context


async def _watch_journal(store: Store, clock: Clock) -> None:
    """Logs at once that the journal's files are missing; the store refuses writes by itself."""
    known: Path | None = None
    while True:
        await clock.sleep(file_identity.LOOK_SECONDS)
        missing = store.missing_file
        if missing is not None and known is None:
            log.error("%s", JournalGone(str(missing)))
        elif missing is None and known is not None:
            log.warning("%s is back, and writes are accepted again", known)
        known = missing


async def _renew(
    directory: Path, names: tuple[str, ...], renewed: Callable[[own_certificates.Pki], None], clock: Clock
) -> None:
    """Renews certificates of a longshore that runs for months; new connections get the new one. A renewal
    that fails, on a full disk say, is retried the next day: weeks are left when it is due."""
    is_owed = False
    while True:
        await clock.sleep(_RENEWAL_SECONDS)
        try:
            fresh = own_certificates.ensure(directory, clock.now(), names)
            is_owed = is_owed or fresh.renewed
            if is_owed:
                renewed(fresh)
                is_owed = False
        except (OSError, own_certificates.BrokenPki) as err:
            log.warning("cannot renew the certificates, trying again tomorrow: %s", err)


# The dashboard's `uilogins` of longshore.dev are one-time login links. Each user of the API may create one:
# the session has the user's own rights, nothing more.

_LOGIN_ROW: Final = resources.own("UILogin", "uilogins", namespaced=False, verbs=("create",))
_SECRET_BYTES: Final = 32


def _sessions(tokens: Tokens, directory: Path, clock: Clock) -> BrowserSessions:
    """The dashboard's sessions, kept in the data directory."""
    return BrowserSessions(
        SessionsFile(directory / "ui-sessions.json"),
        tokens,
        clock=clock.timestamp,
        secret=lambda: token_urlsafe(_SECRET_BYTES),
    )


def _login_links(sessions: BrowserSessions) -> MadeDocument:
    """Makes links by which a browser logs in."""

    async def link(call: Call) -> Obj:
        path = f"/ui/login#{sessions.code_for(call.user)}"
        return {"metadata": {}, "status": {"path": path, "expirationSeconds": CODE_SECONDS}}

    return own_group.document(_LOGIN_ROW, link)


class SessionsFile:
    """Keeps the sessions in a file: a `Shelf` of `apiserver.access.browser_sessions`."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def read(self) -> bytes:
        try:
            return self._path.read_bytes()
        except FileNotFoundError:
            return b""

    def write(self, data: bytes) -> None:
        write_private(self._path, data)
