"""Shared informers: a cache that follows one resource, and handlers that are called for every change.

Handlers are plain functions called in the event loop: they put keys on queues and return. If a handler
raises, that is a bug; it is logged, and the other handlers are still called.

A process makes one `Informers` and gives each user its `share()`: each resource is followed once, by one
watch and one cache, while each user has its own handlers and lifetime. When a user ends, its handlers are
removed; a watch ends with its last user.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Mapping
from typing import TypeAlias

from longshore.api.facts.kinds import Kind
from longshore.client import Client, What
from longshore.client.projection import WHOLE, Projection
from longshore.machinery.informers.cache import Cache, Indexer
from longshore.machinery.informers.followed_selection import FollowedSelection
from longshore.machinery.informers.heard_objects import Handler, OnChange
from longshore.machinery.informers.reflector import Selection, named
from longshore.machinery.time.clock import Clock

Selected: TypeAlias = "dict[tuple[Selection, Projection], FollowedSelection]"
"""The selections that the informers of one process share, by `Selection.key` and projection."""


class Informer:
    """Follows one selection; every `resync` seconds handlers get an update for each object (None: never).

    Cache and handlers get the fields that a user `reads`, and the rest takes no memory unless another user
    wants it. Indexes of a shared cache must have different names. Updates of one object that
    arrive together are folded, unless `each_update`. Informers with the same `selected` share one watch per
    selection; with None this informer has its own.
    """

    def __init__(
        self,
        client: Client,
        selection: Selection,
        *,
        clock: Clock,
        rng: random.Random,
        resync: float | None = None,
        reads: Projection = WHOLE,
        each_update: bool = False,
        selected: Selected | None = None,
    ) -> None:
        self.what = selection.what
        self._handlers: list[Handler] = []
        self._key, self._selected = (selection.key, reads), {} if selected is None else selected
        self.followed = self._selected.get(self._key) or FollowedSelection(
            client, selection, clock=clock, rng=rng, resync=resync, reads=reads
        )
        self._selected[self._key] = self.followed
        if each_update:
            self.followed.tell_each_update()

    @property
    def cache(self) -> Cache:
        return self.followed.cache

    def add_handler(self, handler: Handler) -> None:
        """Adds a handler for all changes from now on; calls it at once, as initial, for cached objects."""
        self._handlers.append(handler)
        self.followed.audience.add(handler)
        for obj in self.cache.facts():
            handler.on_add(obj, True)

    @property
    def has_synced(self) -> bool:
        """Whether all objects of the first list are cached and the handlers were called for them."""
        return self.followed.is_filled

    async def synced(self) -> None:
        """Waits for `has_synced`."""
        await self.followed.synced.wait()

    async def run(self) -> None:
        """Follows the resource until cancelled; after that no handler is called."""
        followed = self._selected[self._key] = self.followed
        for handler in self._handlers:
            followed.audience.add(handler)  # run for a second time
        try:
            await followed.run()
        finally:
            followed.audience.drop(self._handlers)
            if not followed.in_use and self._selected.get(self._key) is followed:
                del self._selected[self._key]


class Informers:
    """Makes informers while controllers are wired; `run` follows them all.

    `reads` has the kinds of which the process follows all objects, with the fields that it reads. A user that
    reads no other fields shares the watch and the cache.
    """

    def __init__(
        self,
        client: Client,
        *,
        clock: Clock,
        rng: random.Random,
        resync: float | None = None,
        reads: Mapping[Kind, Projection] | None = None,
    ) -> None:
        self._client, self._clock, self._rng, self._resync = client, clock, rng, resync
        self._reads = {named(kind): projection for kind, projection in (reads or {}).items()}
        self._selected: Selected = {}
        self._informers: dict[Selection, Informer] = {}
        self._tasks: asyncio.TaskGroup | None = None
        self._expected: set[object] = set()

    def share(self) -> Informers:
        """Informers for another user in this process, which share the watches and caches."""
        made = Informers(self._client, clock=self._clock, rng=self._rng, resync=self._resync)
        made._reads, made._selected, made._expected = self._reads, self._selected, self._expected
        return made

    def follows_all(self, what: What, reads: Projection = WHOLE) -> bool:
        """Whether the process caches these fields of all objects of this resource, without a further
        informer."""
        wide = self._reads.get(named(what))
        return wide is not None and wide.covers(reads)

    def get(
        self,
        what: What,
        *,
        namespace: str = "",
        labels: str = "",
        fields: str = "",
        indexers: Mapping[str, Indexer] | None = None,
        reads: Projection = WHOLE,
        each_update: bool = False,
    ) -> Informer:
        """The informer of this selection. Adds the indexes that it lacks."""
        selection = Selection(what, namespace, labels, fields)
        key = selection.key
        informer = self._informers.get(key)
        if informer is None:
            if self.follows_all(what, reads):
                reads = self._reads[named(what)]
            informer = self._informers[key] = Informer(
                self._client,
                selection,
                clock=self._clock,
                rng=self._rng,
                resync=self._resync,
                reads=reads,
                each_update=each_update,
                selected=self._selected,
            )
            if self._tasks is not None:
                self._tasks.create_task(informer.run())
        for name, indexer in (indexers or {}).items():
            informer.cache.add_index(name, indexer)
        return informer

    def expect_more(self, who: object) -> None:
        """Notes that `who` will ask for further informers until it calls `expect_no_more`."""
        self._expected.add(who)

    def expect_no_more(self, who: object) -> None:
        self._expected.discard(who)

    @property
    def expects_more(self) -> bool:
        """Whether some user of the process does not know yet what else it has to follow."""
        return bool(self._expected)

    def watches(self) -> list[FollowedSelection]:
        """The selections that are followed now in this process, each once."""
        return [followed for followed in self._selected.values() if followed.in_use]

    async def synced(self) -> None:
        """Waits until every informer asked for so far has synced."""
        for informer in [*self._informers.values()]:
            await informer.synced()

    async def run(self) -> None:
        """Follows all selections until cancelled, including those added later."""
        async with asyncio.TaskGroup() as tasks:
            for informer in self._informers.values():
                tasks.create_task(informer.run())
            self._tasks = tasks
            try:
                await asyncio.Event().wait()
            finally:
                self._tasks = None


__all__ = ["FollowedSelection", "Handler", "Informer", "Informers", "OnChange", "Selected"]
