"""The informers of one process, each resource followed once however many controllers look at it."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Mapping
from typing import TypeAlias

from longshore.client import Client, What
from longshore.machinery.informers.cache import Indexer
from longshore.machinery.informers.informer import Informer, named
from longshore.machinery.time.clock import Clock

_Selection: TypeAlias = tuple[str, str, str, str, str]


class Informers:
    """Ask for informers while wiring controllers; `run` follows them all."""

    def __init__(
        self, client: Client, *, clock: Clock, rng: random.Random, resync: float | None = None
    ) -> None:
        self._client, self._clock, self._rng, self._resync = client, clock, rng, resync
        self._informers: dict[_Selection, Informer] = {}
        self._tasks: asyncio.TaskGroup | None = None

    def get(
        self,
        what: What,
        *,
        namespace: str = "",
        labels: str = "",
        fields: str = "",
        indexers: Mapping[str, Indexer] | None = None,
    ) -> Informer:
        """The informer of this selection; indexes that it does not have yet are added to it."""
        key = (*named(what), namespace, labels, fields)
        informer = self._informers.get(key)
        if informer is None:
            informer = self._informers[key] = Informer(
                self._client,
                what,
                clock=self._clock,
                rng=self._rng,
                namespace=namespace,
                labels=labels,
                fields=fields,
                resync=self._resync,
            )
            if self._tasks is not None:
                self._tasks.create_task(informer.run())
        for name, indexer in (indexers or {}).items():
            informer.cache.add_index(name, indexer)
        return informer

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
