"""Shared informer: a cache that follows one resource, and handlers that hear of every change.

Handlers are plain functions called in the event loop: they put keys on queues and return. One that raises is
a bug; it is logged, and the others still hear.

Informers that were got from one `shared.Informers` follow a selection together: one watch, one cache, each
with its own handlers.
"""

from __future__ import annotations

import asyncio
import random
from typing import TypeAlias

from longshore.client import Client
from longshore.client.protocol import Only
from longshore.machinery.informers.cache import Cache
from longshore.machinery.informers.followed_selection import FollowedSelection, Transform
from longshore.machinery.informers.heard_objects import Handler, Newcomer, OnChange
from longshore.machinery.informers.reflector import Selection
from longshore.machinery.informers.scopes import matters
from longshore.machinery.time.clock import Clock

Selected: TypeAlias = "dict[tuple[Selection, Transform | None], FollowedSelection]"
"""The selections that informers of one process follow together, by `Selection.key` and what is kept."""


class Informer:
    """`resync` seconds apart, every cached object is told once more as an update; None never does.

    With a `transform` the cache and the handlers need only what it returns: the rest takes no room, unless
    others want it. Indexes of a shared cache must have different names. Updates of one object that come
    together are told as one, unless `each_update`. In `selected` informers of one selection find each other;
    None follows alone. `only` and `gradually` as of `Informers.share`: it must be the same function for all
    users who want the same.
    """

    def __init__(
        self,
        client: Client,
        selection: Selection,
        *,
        clock: Clock,
        rng: random.Random,
        resync: float | None = None,
        transform: Transform | None = None,
        each_update: bool = False,
        selected: Selected | None = None,
        only: Only | None = None,
        gradually: bool = False,
    ) -> None:
        self.what, self._only, self._gradually = selection.what, only, gradually
        self._newcomers: list[Newcomer] = []
        self._all_heard = asyncio.Event()
        self._handlers: list[Handler] = []
        self._key, self._selected = (selection.key, transform), {} if selected is None else selected
        self.followed = self._selected.get(self._key) or FollowedSelection(
            client, selection, clock=clock, rng=rng, resync=resync, transform=transform
        )
        self._selected[self._key] = self.followed
        self._scope = self.followed.scopes.of(only)
        if each_update:
            self.followed.tell_each_update()

    @property
    def cache(self) -> Cache:
        return self.followed.cache

    def add_handler(self, handler: Handler) -> None:
        """From now on `handler` hears every change. What is cached already it hears at once, as initial."""
        only = self._only
        if self._gradually:
            handler = newcomer = Newcomer(handler, self.cache, only)
            self._newcomers.append(newcomer)
        self._handlers.append(handler)
        self.followed.audience.add(handler, only)
        if not self._gradually:
            for obj in self.cache.list():
                if matters(obj["metadata"].get("namespace") or "", only):
                    handler.on_add(obj, True)

    @property
    def has_synced(self) -> bool:
        """Whether everything that existed at the first look is cached, and was told to the handlers."""
        return self._scope.filled.is_set()

    async def synced(self) -> None:
        """Waits for `has_synced`, and for handlers that hear gradually of what was cached before."""
        await self._scope.filled.wait()
        if self._newcomers:
            await self._all_heard.wait()

    async def run(self) -> None:
        """Follows the resource until cancelled; no handler is called after that."""
        followed = self._selected[self._key] = self.followed
        for handler in self._handlers:
            followed.audience.add(handler, self._only)  # run for a second time
        hearing = asyncio.create_task(self._hear()) if self._newcomers else None
        try:
            await followed.run(self._scope)
        finally:
            if hearing is not None:
                hearing.cancel()
            followed.audience.drop(self._handlers)
            if not followed.in_use and self._selected.get(self._key) is followed:
                del self._selected[self._key]

    async def _hear(self) -> None:
        for newcomer in self._newcomers:
            await newcomer.hear()
        self._all_heard.set()


__all__ = ["FollowedSelection", "Handler", "Informer", "OnChange", "Selected", "Transform"]
