"""Shared informer: a cache that follows one resource, and handlers that hear of every change.

The cache is changed before handlers are called, one change at a time, in the server's order. Handlers are
plain functions called in the event loop: they put keys on queues and return. One that raises is a bug; it
is logged, and the others still hear.

After a gap (a relist) handlers hear an update for what they knew, an addition for what is new, and a
deletion marked stale, with the last state known, for what vanished. An object that was replaced by
another of the same name is both: a stale deletion and an addition. What is not newer than the cached
object is not told twice.

Informers that were got from one `shared.Informers` follow a selection together: one watch, one cache, each
with its own handlers.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from typing import TypeAlias

from longshore.api.resources import Resource
from longshore.api.types import Obj
from longshore.client import Client, What
from longshore.client.ask import built_in
from longshore.machinery.informers.cache import Cache, Indexer
from longshore.machinery.informers.selection import Following, Handler, Transform
from longshore.machinery.time.clock import Clock

Selection: TypeAlias = tuple[str, str, str, str, str]
"""apiVersion, plural, namespace, label selector, field selector."""
Selected: TypeAlias = dict[Selection, Following]
"""The selections that informers of one process follow together."""


class OnChange(Handler):
    """For those who only want to know which object to look at again."""

    def __init__(self, changed: Callable[[Obj], None]) -> None:
        self._changed = changed

    def on_add(self, obj: Obj, initial: bool) -> None:
        self._changed(obj)

    def on_update(self, old: Obj, new: Obj) -> None:
        self._changed(new)

    def on_delete(self, obj: Obj, stale: bool) -> None:
        self._changed(obj)


class Informer:
    """`resync` seconds apart, every cached object is told once more as an update; None never does.

    With a `transform` the cache and the handlers need only what it returns: the rest takes no room, unless
    others want it. Indexes of a shared cache must have different names. Updates of one object that come
    together are told as one, unless `each_update`. In `selected` informers of one selection find each other;
    None follows alone.
    """

    def __init__(
        self,
        client: Client,
        what: What,
        *,
        clock: Clock,
        rng: random.Random,
        namespace: str = "",
        labels: str = "",
        fields: str = "",
        indexers: Mapping[str, Indexer] | None = None,
        resync: float | None = None,
        transform: Transform | None = None,
        each_update: bool = False,
        selected: Selected | None = None,
    ) -> None:
        self.what = what
        self._handlers: list[Handler] = []
        self._key = key = (*named(what), namespace, labels, fields)
        self._selected = selected
        known = selected.get(key) if selected is not None else None
        self.following: Following = known or Following(
            client,
            what,
            clock=clock,
            rng=rng,
            namespace=namespace,
            labels=labels,
            fields=fields,
            resync=resync,
            transform=transform,
        )
        if selected is not None:
            selected[key] = self.following
        if each_update:
            self.following.tell_each_update()
        for name, indexer in (indexers or {}).items():
            self.cache.add_index(name, indexer)

    @property
    def cache(self) -> Cache:
        return self.following.cache

    def add_handler(self, handler: Handler) -> None:
        """From now on `handler` hears every change. What is cached already it hears at once, as initial."""
        self._handlers.append(handler)
        self.following.handlers.append(handler)
        for obj in self.cache.list():
            handler.on_add(obj, True)

    @property
    def has_synced(self) -> bool:
        """Whether everything that existed at the first look is cached, and was told to the handlers."""
        return self.following.synced.is_set()

    async def synced(self) -> None:
        """Waits for `has_synced`."""
        await self.following.synced.wait()

    async def run(self) -> None:
        """Follows the resource until cancelled; no handler is called after that."""
        following = self.following
        heard = following.handlers
        heard += [handler for handler in self._handlers if handler not in heard]  # run for a second time
        try:
            await following.run()
        finally:
            heard[:] = [handler for handler in heard if handler not in self._handlers]
            selected = self._selected
            if not following.in_use and selected is not None and selected.get(self._key) is following:
                del selected[self._key]


def named(what: What) -> tuple[str, str]:
    """apiVersion and plural, so that a kind and its plural mean the same."""
    if isinstance(what, Resource):
        return what.group_version, what.plural
    row = built_in(*what)
    return what if row is None else (row.group_version, row.plural)


__all__ = ["Handler", "Informer", "OnChange", "Selected", "Selection", "Transform", "named"]
