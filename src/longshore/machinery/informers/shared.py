"""The informers of one process, each resource followed once however many controllers look at it.

A process makes one `Informers` and hands each user `share()` of it: the same watches and caches, with
handlers and a life of its own. A user who ends takes its handlers away; a watch ends with its last user.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Collection, Mapping

from longshore.client import Client, What
from longshore.client.protocol import Only
from longshore.machinery.informers.cache import Indexer
from longshore.machinery.informers.followed_selection import FollowedSelection, Transform
from longshore.machinery.informers.informer import Informer, Selected
from longshore.machinery.informers.reflector import Selection, named
from longshore.machinery.time.clock import Clock


class Informers:
    """Ask for informers while wiring controllers; `run` follows them all.

    `whole` are resources that somebody in the process keeps as a whole in any case: a transform of those
    would save nothing, so it is left out. Informers with a transform are shared by those who have the same.
    """

    def __init__(
        self,
        client: Client,
        *,
        clock: Clock,
        rng: random.Random,
        resync: float | None = None,
        whole: Collection[What] = (),
    ) -> None:
        self._client, self._clock, self._rng, self._resync = client, clock, rng, resync
        self._whole = frozenset(named(what) for what in whole)
        self._selected: Selected = {}
        self._informers: dict[Selection, Informer] = {}
        self._only: Only | None = None
        self._gradually = False
        self._tasks: asyncio.TaskGroup | None = None

    def share(self, only: Only | None = None, *, gradually: bool = False) -> Informers:
        """Informers for another user in this process, who hears of objects in namespaces of which `only` says
        so, and finds no others in the caches for sure. `gradually`: of what is cached already, its handlers
        hear in many turns of the loop."""
        made = Informers(self._client, clock=self._clock, rng=self._rng, resync=self._resync)
        made._whole, made._selected = self._whole, self._selected
        made._only, made._gradually = only, gradually
        return made

    def follows_whole(self, what: What) -> bool:
        """Whether all objects of this resource are cached in any case, for somebody."""
        return named(what) in self._whole

    def get(
        self,
        what: What,
        *,
        namespace: str = "",
        labels: str = "",
        fields: str = "",
        indexers: Mapping[str, Indexer] | None = None,
        transform: Transform | None = None,
        each_update: bool = False,
    ) -> Informer:
        """The informer of this selection; indexes that it does not have yet are added to it."""
        selection = Selection(what, namespace, labels, fields)
        key = selection.key
        informer = self._informers.get(key)
        if informer is None:
            if self.follows_whole(what):
                transform = None
            informer = self._informers[key] = Informer(
                self._client,
                selection,
                clock=self._clock,
                rng=self._rng,
                resync=self._resync,
                transform=transform,
                each_update=each_update,
                selected=self._selected,
                only=self._only,
                gradually=self._gradually,
            )
            if self._tasks is not None:
                self._tasks.create_task(informer.run())
        for name, indexer in (indexers or {}).items():
            informer.cache.add_index(name, indexer)
        return informer

    def watches(self) -> list[FollowedSelection]:
        """Everything that somebody in the process follows now, each once."""
        return [followed for followed in self._selected.values() if followed.in_use]

    async def caught_up(self) -> None:
        """Waits until every cache in the process shows all that was written before this call."""
        await asyncio.gather(*(watch.caught_up() for watch in self.watches()))

    async def synced(self) -> None:
        """Waits until every informer asked for so far has synced."""
        for informer in [*self._informers.values()]:
            await informer.synced()

    async def run(self) -> None:
        """Follows everything, also what is asked for later, until cancelled."""
        async with asyncio.TaskGroup() as tasks:
            for informer in self._informers.values():
                tasks.create_task(informer.run())
            self._tasks = tasks
            try:
                await asyncio.Event().wait()
            finally:
                self._tasks = None
