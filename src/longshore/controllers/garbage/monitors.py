"""Watches every resource that can be watched and deleted, and keeps the graph equal to the server's state.

The served resources change with CustomResourceDefinitions: they are discovered again when a definition
changes, and every 30 seconds if the server may aggregate other servers. A resource that is no longer served
is watched 30 seconds longer, since events of its last objects may still arrive. Its objects then stay in the
graph: that they cannot be listed does not mean that they are gone. If discovery of a group fails (its server
is down), the watches of that group go on.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Final

from longshore.api.errors import StatusError
from longshore.api.resources import Resource
from longshore.api.types import Obj
from longshore.client import PartlyDiscovered, Unreachable
from longshore.controllers.garbage.graph import Graph
from longshore.controllers.garbage.references import READS
from longshore.machinery.controller_context import ControllerContext
from longshore.machinery.informers.informer import Handler, Informer, OnChange

_REDISCOVER_SECONDS: Final = 30.0
_PATIENCE_SECONDS: Final = 30.0
"""How long a resource that cannot be listed delays the collector, as upstream."""
_NEEDED: Final = frozenset(("delete", "list", "watch"))
_DEFINITIONS: Final = "apiextensions.k8s.io/customresourcedefinitions"

log = logging.getLogger(__name__)


class Monitors:
    """Runs an informer for each resource. Calls `changed` when a new resource is watched."""

    def __init__(self, context: ControllerContext, graph: Graph, changed: Callable[[], None]) -> None:
        self._client, self._clock, self._process = context.client, context.clock, context.informers
        self._graph, self._changed = graph, changed
        self._informers: dict[str, Informer] = {}
        """Informers by storage. Stopped ones are kept: if restarted, they report what was missed."""
        self._tasks: dict[str, asyncio.Task[None]] = {}
        self._unserved: dict[str, float] = {}
        """The time since which a resource that is still watched is not served, by storage."""
        self._filling: dict[str, Informer | None] = {}
        """Storages with a new informer, each with the informer of another version that it replaces."""
        self._knows_all = False
        """Whether only a changed definition can add a resource."""
        self._wanted = asyncio.Event()
        self._ready = asyncio.Event()
        self._process.expect_more(self)

    async def run(self) -> None:
        """Watches until cancelled."""
        try:
            async with asyncio.TaskGroup() as group:
                while True:
                    self._wanted.clear()
                    await self._discover(group)
                    await self._settle()
                    if self._knows_all and not self._unserved:
                        await self._wanted.wait()
                        continue
                    with suppress(TimeoutError):
                        async with self._clock.timeout(_REDISCOVER_SECONDS):
                            await self._wanted.wait()
        finally:
            self._process.expect_no_more(self)
            self._tasks.clear()

    async def ready(self) -> None:
        """Waits until the graph holds all objects, at most 30 seconds if some cannot be listed."""
        await self._ready.wait()

    async def _discover(self, group: asyncio.TaskGroup) -> None:
        unknown: set[str] = set()
        try:
            rows: Sequence[Resource] = await self._client.resources()
        except PartlyDiscovered as err:
            log.warning("going on with what is known: %s", err)
            rows, unknown = err.found, {version.rpartition("/")[0] for version in err.missing}
        except (StatusError, Unreachable) as err:
            log.warning("cannot find out which resources are served: %s", err)
            self._knows_all = False
            return
        self._knows_all = not self._client.has_aggregation
        served: dict[str, Resource] = {}
        for row in rows:
            if _followed(row):
                served.setdefault(row.storage, row)
        now = self._clock.monotonic()
        self._unserved = {
            storage: self._unserved.get(storage, now)
            for storage in self._tasks
            if storage not in served and storage.rpartition("/")[0] not in unknown
        }
        for storage in [*self._tasks]:
            if storage in served:
                ends = not self._follows(storage, served[storage])
            else:
                ends = now - self._unserved.get(storage, now) >= _REDISCOVER_SECONDS
            if ends:
                self._tasks.pop(storage).cancel()
        new = [row for storage, row in served.items() if storage not in self._tasks]
        for row in new:
            self._ready.clear()
            self._tasks[row.storage] = group.create_task(self._informer(row).run())
        if new:
            self._changed()

    def _follows(self, storage: str, row: Resource) -> bool:
        """Whether the informer of this storage watches exactly this version of the resource."""
        followed = self._informers[storage].what
        return isinstance(followed, Resource) and followed.version == row.version

    def _informer(self, row: Resource) -> Informer:
        old = self._informers.get(row.storage)
        if old is not None and self._follows(row.storage, row):
            return old
        informer = self._process.get(row, reads=READS)
        informer.add_handler(_Follow(self._graph, row))
        if row.storage == _DEFINITIONS:
            informer.add_handler(OnChange(lambda _: self._wanted.set()))
        self._informers[row.storage] = informer
        self._filling[row.storage] = old
        return informer

    async def _settle(self) -> None:
        if self._ready.is_set() or not self._tasks:
            return
        filling, self._filling = self._filling, {}
        with suppress(TimeoutError):
            async with self._clock.timeout(_PATIENCE_SECONDS):
                for storage, old in filling.items():
                    await self._informers[storage].synced()
                    if old is not None:
                        self._compare(old, self._informers[storage])
        if missing := [storage for storage in filling if not self._informers[storage].has_synced]:
            log.warning("going on without what cannot be listed: %s", ", ".join(missing))
        self._ready.set()
        self._process.expect_no_more(self)

    def _compare(self, old: Informer, new: Informer) -> None:
        """Removes objects that vanished between the last list of the old version and the first of the new."""
        there = {obj["metadata"]["uid"] for obj in new.cache}
        for obj in old.cache:
            if obj["metadata"]["uid"] not in there:
                self._graph.remove(obj["metadata"]["uid"])


class _Follow(Handler):
    """Passes changes to the graph, slimmed: an informer shared with others delivers whole objects."""

    def __init__(self, graph: Graph, resource: Resource) -> None:
        self._graph, self._resource = graph, resource

    def on_add(self, obj: Obj, initial: bool) -> None:
        self._graph.put(self._resource, READS.of(obj)["metadata"])

    def on_update(self, old: Obj, new: Obj) -> None:
        self._graph.put(self._resource, READS.of(new)["metadata"])

    def on_delete(self, obj: Obj, stale: bool) -> None:
        self._graph.remove(obj["metadata"]["uid"])


def _followed(row: Resource) -> bool:
    """Whether the resource is watched. Events are not: they have no owners and are numerous."""
    return row.plural != "events" and frozenset(row.verbs) >= _NEEDED
