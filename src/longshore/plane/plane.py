"""One control plane: API, local client, controllers, schedulers, and a node if one is handed in.

Everything it would otherwise ask the machine for is a parameter: the store, the clock, the dice, the time
zone, the key maker, directories for volumes. So the same plane runs in `longshore up` (real clock, data
directory, HTTP in front), in tests and on the virtual clock, where the same seed gives the same run.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from functools import partial
from typing import TYPE_CHECKING, Final, TypeAlias

import msgspec

from longshore.api import features
from longshore.api.retention import Retention
from longshore.apiserver.api import Api
from longshore.apiserver.crd.clearing import clear_definitions
from longshore.apiserver.event_expiry import expire_events
from longshore.client.local import LocalClient
from longshore.machinery.reason_book import ReasonBook, Untold
from longshore.machinery.work_limits import WorkLimits
from longshore.plane import bootstrap, controllers, explaining, job_history, rare_documents, scheduling
from longshore.plane.job_history import JobHistory
from longshore.plane.supervising import cancelled, supervised
from longshore.plane.wiring import Wiring, informers_of

if TYPE_CHECKING:
    import random

    from longshore.api import cron
    from longshore.controllers.volcano.plugins import KeyMaker
    from longshore.controllers.volume.directories import Directories
    from longshore.machinery.time.clock import Clock
    from longshore.scheduler.gang.conf.conf_file import ConfFile
    from longshore.scheduler.gang.extending import Post
    from longshore.store import Store

_NODE_READY_SECONDS: Final = 10.0

log = logging.getLogger(__name__)


class Parts(msgspec.Struct, frozen=True):
    """The parameters of a plane."""

    store: Store
    clock: Clock
    rng: random.Random
    zone: cron.Zone
    """That of CronJobs without one."""
    keys: KeyMaker
    controllers: tuple[str, ...]
    """Names from `controllers.CONTROLLERS`."""
    scheduler: bool = True
    """Whether pods are given nodes here."""
    gang_settings: ConfFile | tuple[str, ...] | None = None
    """A file with the settings of cycles for gangs, or their actions; None means Volcano's own choice."""
    workloads: bool = False
    """Whether Kubernetes' own gangs, which are alpha, are served and scheduled."""
    volumes: Directories | None = None
    """Makes directories for claims; the volume controller needs it."""
    ca: str = ""
    """PEM of the authority that signed the server's certificate; empty where no server listens."""
    shortcuts: bool = True
    """Whether work is spared where nobody notices (`apiserver/shortcuts`)."""
    limits: WorkLimits = WorkLimits()
    """How much controllers do at a time."""
    keeps_records: bool = True
    """Whether reasons and ended Jobs are kept, for `why` and `history`, and queues measured, for metrics."""
    post: Post | None = None
    """Reaches the extenders of schedulers; None where other servers are none of this plane's business."""
    retention: Retention = Retention()
    """How many events are kept, and for how long."""


NodeFactory: TypeAlias = Callable[["Plane", asyncio.Event], Awaitable[None]]
"""Runs a node for a plane until cancelled; sets the event once the node takes pods."""


class Plane:
    """`prepare` it, then `running`. `client` is that of all its parts, on an API that may have served others
    before; without one the plane has its own."""

    def __init__(self, parts: Parts, client: LocalClient | None = None) -> None:
        self.parts, self.clock, self.rng = parts, parts.clock, parts.rng
        self.client = client or LocalClient(
            Api(parts.store, clock=parts.clock, rng=parts.rng, shortcuts=parts.shortcuts)
        )
        self.api = self.client.api
        self.book = ReasonBook(parts.clock, parts.store.reasons)
        """The reasons of all parts of this plane."""
        self.wiring = Wiring(
            parts.clock,
            parts.rng,
            informers_of(
                self.client,
                parts.controllers,
                clock=parts.clock,
                rng=parts.rng,
                resync=parts.limits.resync,
            ),
            zone=parts.zone,
            keys=parts.keys,
            ca=parts.ca,
            volumes=parts.volumes,
            reasons=self.book if parts.keeps_records else Untold(),
            limits=parts.limits,
            keeps_records=parts.keeps_records,
            post=parts.post,
        )
        explaining.serve(self, self.book)
        if parts.keeps_records:
            self.api.on_delete = explaining.noting(self.book, parts.clock.timestamp)
        self.history = JobHistory(parts.clock, parts.store.finished_jobs)
        """The Jobs that have ended."""
        self.api.own.serve(job_history.ROW, self.history.answer)
        rare_documents.serve(self)
        self.api.collectors.append(self.wiring.registry)

    async def prepare(self) -> None:
        """Creates the objects every Kubernetes has from its first moment, as far as they are missing."""
        await bootstrap.objects(self.client)
        if self.parts.workloads:
            from longshore.plane import workload_kinds

            features.turn_on(features.WORKLOADS)
            await workload_kinds.define(self.client)

    @asynccontextmanager
    async def running(self, node: NodeFactory | None = None) -> AsyncIterator[None]:
        """Runs everything beside the block. At its end the node stops first, then the others."""
        parts = self.parts
        async with AsyncExitStack() as stack:
            stack.callback(self.book.flush)
            stack.callback(self.history.flush)
            alpha = controllers.ALPHA if parts.workloads else ()
            tasks = controllers.start((*parts.controllers, *alpha), self.client, self.wiring)
            if "job" in parts.controllers and parts.keeps_records:
                tasks.append(self._remember())
            if parts.scheduler:
                tasks += scheduling.start(
                    self.client, self.wiring, parts.gang_settings, place_by=self.api.shortcuts.place_by
                )
            tasks += [self._expire_events(), self._clear_definitions()]
            stack.push_async_callback(cancelled, tasks)
            if node is not None:
                stack.push_async_callback(cancelled, [await self._start(node)])
            yield

    def _remember(self) -> asyncio.Task[None]:
        """Follows Jobs, to remember those that end."""

        async def run() -> None:
            await self.history.run(self.wiring.informers.share())

        return asyncio.create_task(supervised("the history of Jobs", run, self.clock), name="job history")

    def _expire_events(self) -> asyncio.Task[None]:
        run = partial(expire_events, self.api, self.parts.retention)
        return asyncio.create_task(supervised("the expiry of events", run, self.clock), name="event expiry")

    def _clear_definitions(self) -> asyncio.Task[None]:
        run = partial(clear_definitions, self.api)
        return asyncio.create_task(supervised("the end of definitions", run, self.clock), name="clearing")

    async def _start(self, node: NodeFactory) -> asyncio.Task[None]:
        """Starts the node and returns when it takes pods, or after some seconds."""
        ready = asyncio.Event()
        run = partial(node, self, ready)  # its containers go on if it fails
        task = asyncio.create_task(supervised("the node", run, self.clock), name="node")
        try:
            async with self.clock.timeout(_NODE_READY_SECONDS):
                await ready.wait()
        except TimeoutError:
            log.warning("the node is not ready yet; pods wait until it is")
        return task
