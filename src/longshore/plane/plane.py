"""One control plane: API, local client, controllers, schedulers, and a node if one is given.

Everything that depends on the machine is a parameter: the store, the clock, the random numbers, the time
zone, the key maker, directories for volumes. So the same plane runs in `longshore up` (real clock, data
directory, HTTP in front), in tests, and on the virtual clock, where the same seed gives the same run.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from functools import partial
from typing import TYPE_CHECKING, Final, TypeAlias

import msgspec

from longshore.api import resources
from longshore.api.container_streams import LogOptions
from longshore.api.errors import StatusError
from longshore.api.retention import Retention
from longshore.api.types import Obj
from longshore.apiserver.api import Api, ApiParts, PlaneParts
from longshore.apiserver.crd.clearing import clear_definitions
from longshore.apiserver.documents import own_group
from longshore.apiserver.event_expiry import expire_events
from longshore.apiserver.request.call import Call
from longshore.client import Client
from longshore.client.local import LocalClient
from longshore.machinery.background import cancelled
from longshore.machinery.events.recorder import Hears
from longshore.machinery.informers.informer import Informers
from longshore.machinery.reason_book import ReasonBook, Untold
from longshore.machinery.work_limits import WorkLimits
from longshore.plane import bootstrap, controllers, explaining, job_history, scheduling
from longshore.plane.job_history import JobHistory
from longshore.plane.supervising import supervised
from longshore.plane.wiring import FOLLOWED_WHOLE, Wiring

if TYPE_CHECKING:
    import random

    from longshore.api import cron
    from longshore.apiserver.documents.own_group import MadeDocument
    from longshore.controllers.volcano.plugins import KeyMaker
    from longshore.controllers.volume.act import Directories
    from longshore.machinery.time.clock import Clock
    from longshore.scheduler.gang.conf.conf_file import ConfFile
    from longshore.store import Store

_NODE_READY_SECONDS: Final = 10.0

log = logging.getLogger(__name__)


class Parts(msgspec.Struct, frozen=True):
    """The parameters of a plane."""

    store: Store
    clock: Clock
    rng: random.Random
    zone: cron.Zone
    """The time zone of CronJobs that name none."""
    keys: KeyMaker
    controllers: tuple[str, ...]
    """Names from `controllers.CONTROLLERS`."""
    scheduler: bool = True
    """Whether this plane schedules pods."""
    gang_settings: ConfFile | tuple[str, ...] | None = None
    """A file with the gang scheduler's settings, or a list of its actions; None means Volcano's defaults."""
    volumes: Directories | None = None
    """Makes directories for claims; required by the volume controller."""
    ca: str = ""
    """PEM of the authority that signed the server's certificate; empty if no server listens."""
    shortcuts: bool = True
    """Whether shortcuts are used (`apiserver/shortcuts`)."""
    limits: WorkLimits = WorkLimits()
    """How much controllers do at a time, and how soon they retry."""
    keeps_records: bool = True
    """Whether reasons and ended Jobs are kept for `why` and `history`, and queues have metrics."""
    retention: Retention = Retention()
    """How many events are kept, and for how long."""
    hears: Hears | None = None
    """Called with the Events of controllers, instead of storing them."""


NodeFactory: TypeAlias = Callable[["Plane", asyncio.Event], Awaitable[None]]
"""Runs a node for a plane until cancelled; sets the event once the node accepts pods."""


class Plane:
    """Call `prepare`, then `running`. `api` may have served requests before; without one the plane makes its
    own. All parts use `client`, by default a plain one of the API."""

    def __init__(self, parts: Parts, api: Api | None = None, client: Client | None = None) -> None:
        self.parts, self.clock, self.rng = parts, parts.clock, parts.rng
        self.api = api or Api(ApiParts(parts.store, parts.clock, parts.rng, shortcuts=parts.shortcuts))
        self.client = client or LocalClient(self.api)
        self.book = ReasonBook(parts.clock, parts.store.reasons)
        """The reasons of all parts of this plane."""
        self.wiring = Wiring(
            parts.clock,
            parts.rng,
            Informers(
                self.client,
                clock=parts.clock,
                rng=parts.rng,
                resync=parts.limits.resync,
                reads=FOLLOWED_WHOLE,
            ),
            zone=parts.zone,
            keys=parts.keys,
            ca=parts.ca,
            volumes=parts.volumes,
            reasons=self.book if parts.keeps_records else Untold(),
            limits=parts.limits,
            keeps_records=parts.keeps_records,
            hears=parts.hears,
        )
        self.history = JobHistory(parts.clock, parts.store.finished_jobs, parts.store.failed_jobs, self._tail)
        """The Jobs that have ended."""
        self.api.use_plane(
            PlaneParts(
                (
                    *explaining.documents(self, self.book),
                    own_group.document(job_history.ROW, self.history.answer),
                    *_rare_documents(self),
                ),
                explaining.noting(self.book, parts.clock.timestamp) if parts.keeps_records else None,
                (self.wiring.registry,),
            )
        )

    async def prepare(self) -> None:
        """Creates the objects that every Kubernetes has from its start, if they are missing."""
        await bootstrap.objects(self.client)

    @asynccontextmanager
    async def running(self, node: NodeFactory | None = None) -> AsyncIterator[None]:
        """Runs everything during the block. At its end the node stops first, then the others."""
        parts = self.parts
        async with AsyncExitStack() as stack:
            stack.callback(self.book.flush)
            stack.callback(self.history.flush)
            tasks = controllers.start(parts.controllers, self.client, self.wiring, at_first_objects=True)
            if "job" in parts.controllers and parts.keeps_records:
                tasks.append(self._task("the history of Jobs", self._remember, "job history"))
            if parts.scheduler:
                tasks += scheduling.start(
                    self.client, self.wiring, parts.gang_settings, place_by=self.api.place_by
                )
            expire = partial(expire_events, self.api, parts.retention)
            tasks.append(self._task("the expiry of events", expire, "event expiry"))
            clear = partial(clear_definitions, self.api)
            tasks.append(self._task("the end of definitions", clear, "clearing"))
            stack.push_async_callback(cancelled, tasks)
            if node is not None:
                stack.push_async_callback(cancelled, [await self._start(node)])
            yield

    async def _tail(self, pod: Obj, container: str) -> str:
        """The last lines of a container's log, if its node runs in this process; else empty."""
        door = self.api.door
        if door is None or pod["spec"].get("nodeName") != door.node:
            return ""
        options = LogOptions(tail_lines=job_history.LAST_LINES)
        try:
            parts = [part async for part in await door.logs(pod, container, options)]
        except (OSError, StatusError):
            return ""
        return b"".join(parts).decode("utf-8", "replace")

    async def _remember(self) -> None:
        """Follows Jobs, to record those that end."""
        await self.history.run(self.wiring.informers.share())

    def _task(self, what: str, run: Callable[[], Awaitable[None]], name: str) -> asyncio.Task[None]:
        return asyncio.create_task(supervised(what, run, self.clock), name=name)

    async def _start(self, node: NodeFactory) -> asyncio.Task[None]:
        """Starts the node and returns when it accepts pods, or after 10 seconds."""
        ready = asyncio.Event()
        task = self._task("the node", partial(node, self, ready), "node")  # containers outlive its failure
        try:
            async with self.clock.timeout(_NODE_READY_SECONDS):
                await ready.wait()
        except TimeoutError:
            log.warning("the node is not ready yet; pods wait until it is")
        return task


# Documents of longshore.dev that are rarely requested. The code of each is imported at its first request.

_RETRY_ROW: Final = resources.own("JobRetry", "jobretries", namespaced=True, verbs=("create",))
_CALENDAR_ROW: Final = resources.own("CronJobCalendar", "cronjobcalendars", namespaced=True)


def _rare_documents(plane: Plane) -> tuple[MadeDocument, ...]:
    """The resources for retries of Jobs and calendars of CronJobs."""

    async def retry(call: Call) -> Obj:
        from longshore.plane import job_retry

        return await job_retry.answer(plane.api, call)

    async def calendar(call: Call) -> Obj | None:
        from longshore.plane import cronjob_calendar

        return cronjob_calendar.answer(plane, call)

    return own_group.document(_RETRY_ROW, retry), own_group.document(_CALENDAR_ROW, calendar)
