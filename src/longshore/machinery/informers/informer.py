"""Shared informer: a cache that follows one resource, and handlers that hear of every change.

The cache is changed before handlers are called, one change at a time, in the server's order. Handlers are
plain functions called in the event loop: they put keys on queues and return. One that raises is a bug; it
is logged, and the others still hear.

After a gap (a relist) handlers hear an update for what they knew, an addition for what is new, and a
deletion marked stale, with the last state known, for what vanished. An object that was replaced by
another of the same name is both: a stale deletion and an addition. What is not newer than the cached
object is not told twice.

Where a client has room for things to be shared (`Client.shared`), all informers of one selection follow it
together: one watch, one cache, each with its own handlers.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from typing import Final

from longshore.api.resources import Resource
from longshore.api.types import Obj
from longshore.client import Client, What
from longshore.client.ask import built_in
from longshore.machinery.informers.cache import Cache, Indexer
from longshore.machinery.informers.selection import Following, Handler, Transform
from longshore.machinery.time.clock import Clock

_WHOLE: Final = frozenset((("v1", "pods"), ("batch/v1", "jobs")))
"""Followed as a whole by somebody in any case, so that those who need little of them save nothing by their
own caches."""


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
    together are told as one, unless `each_update`.
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
    ) -> None:
        self.what = what
        self._handlers: list[Handler] = []
        key = ("informer", *named(what), namespace, labels, fields)
        self._shared = client.shared if resync is None and (transform is None or key[1:3] in _WHOLE) else None
        self._key = key
        known = self._shared.get(key) if self._shared is not None else None
        self.following: Following = known or Following(
            client,
            what,
            clock=clock,
            rng=rng,
            namespace=namespace,
            labels=labels,
            fields=fields,
            resync=resync,
            transform=transform if self._shared is None else None,
        )
        if self._shared is not None:
            self._shared[key] = self.following
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
            if not following.in_use and self._shared is not None and self._shared.get(self._key) is following:
                del self._shared[self._key]


def named(what: What) -> tuple[str, str]:
    """apiVersion and plural, so that a kind and its plural mean the same."""
    if isinstance(what, Resource):
        return what.group_version, what.plural
    row = built_in(*what)
    return what if row is None else (row.group_version, row.plural)


__all__ = ["Handler", "Informer", "OnChange", "Transform", "named"]
