"""Follows every resource that can be followed and deleted, and keeps the graph as the server has it.

Resources come and go with users' definitions: what is served is looked up again when a definition changes,
and, on a server elsewhere, which may have other sources, every 30 seconds. A resource that is not served any
more is followed a little longer, since the news of its last objects may still be on the way, and then only
not followed: that it cannot be listed says nothing of its objects, so they stay in the graph. A group that
does not say what it serves (the server behind it is away) changes nothing: what is followed of it stays so.
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
from longshore.client import PartlyDiscovered, Unreachable, in_process
from longshore.client.protocol import Packed
from longshore.controllers.garbage.graph import Graph
from longshore.controllers.garbage.references import slim
from longshore.machinery.controller_context import ControllerContext
from longshore.machinery.informers.informer import Handler, Informer

_REDISCOVER_SECONDS: Final = 30.0
_PATIENCE_SECONDS: Final = 30.0
"""How long a resource that cannot be listed holds up the rest, as upstream."""
_NEEDED: Final = frozenset(("delete", "list", "watch"))
_DEFINITIONS: Final = "apiextensions.k8s.io/customresourcedefinitions"

log = logging.getLogger(__name__)


class Monitors:
    """`changed` is called when other resources are served than before."""

    def __init__(self, context: ControllerContext, graph: Graph, changed: Callable[[], None]) -> None:
        self._client, self._clock, self._process = context.client, context.clock, context.informers
        self._graph, self._changed = graph, changed
        self._informers: dict[str, Informer] = {}
        """By storage. Those that stopped are kept: when their resource is back, they know what was missed."""
        self._tasks: dict[str, asyncio.Task[None]] = {}
        self._unserved: dict[str, float] = {}
        """Since when the resources that are still followed are not served any more."""
        self._filling: dict[str, Informer | None] = {}
        """Storages with a new informer, each with the one of another version that it replaces."""
        self._knows_all = False
        """Whether nothing but a definition that changes can add a resource."""
        self._wanted = asyncio.Event()
        self._ready = asyncio.Event()

    async def run(self) -> None:
        """Follows until cancelled."""
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
            self._tasks.clear()

    async def ready(self) -> None:
        """Waits until all that exists is in the graph; not for ever, if some of it cannot be listed."""
        await self._ready.wait()

    def rediscover(self) -> None:
        """Notes that the list of served resources may have changed."""
        self._wanted.set()

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
        self._knows_all = in_process.is_here(self._client)
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
        """Whether the informer there is follows this very version of the resource."""
        followed = self._informers[storage].what
        return isinstance(followed, Resource) and followed.version == row.version

    def _informer(self, row: Resource) -> Informer:
        old = self._informers.get(row.storage)
        if old is not None and self._follows(row.storage, row):
            return old
        informer = self._process.get(row, transform=slim)
        informer.add_handler(_Follow(self._graph, row))
        if row.storage == _DEFINITIONS:
            informer.add_handler(_Tell(self.rediscover))
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

    def _compare(self, old: Informer, new: Informer) -> None:
        """The objects that vanished between the last look at one version and the first at another."""
        there = {obj["metadata"]["uid"] for obj in new.cache}
        for obj in old.cache:
            if obj["metadata"]["uid"] not in there:
                self._graph.remove(obj["metadata"]["uid"])


class _Follow(Handler):
    """Tells the graph, cut down: where others follow the same resource, objects come whole."""

    def __init__(self, graph: Graph, resource: Resource) -> None:
        self._graph, self._resource = graph, resource

    def on_add(self, obj: Obj, initial: bool) -> None:
        self._graph.put(self._resource, slim(obj)["metadata"])

    def on_settled(self, facts: Obj, packed: Packed) -> None:
        self.on_add(facts, True)

    def on_update(self, old: Obj, new: Obj) -> None:
        self._graph.put(self._resource, slim(new)["metadata"])

    def on_delete(self, obj: Obj, stale: bool) -> None:
        self._graph.remove(obj["metadata"]["uid"])


class _Tell(Handler):
    def __init__(self, tell: Callable[[], None]) -> None:
        self._tell = tell

    def on_add(self, obj: Obj, initial: bool) -> None:
        self._tell()

    def on_update(self, old: Obj, new: Obj) -> None:
        self._tell()

    def on_delete(self, obj: Obj, stale: bool) -> None:
        self._tell()


def _followed(row: Resource) -> bool:
    """Events are owned by nobody and come in masses."""
    return row.plural != "events" and frozenset(row.verbs) >= _NEEDED
