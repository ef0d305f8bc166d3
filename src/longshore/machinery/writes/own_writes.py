"""Read your own writes: a controller syncs a key again only when its caches show what it wrote.

Remembers, per owner and resource, the highest resourceVersion that a write returned, and compares it with the
revision of that resource's informer. Deletes have no version and are not recorded; expectations cover them.
Versions that are not numbers are ignored.

So the event of a controller's own write always arrives before the next sync of the key. It has no news for
the controller, which made the write (`own`).
"""

from __future__ import annotations

import logging
from collections.abc import Hashable, Mapping
from contextlib import suppress
from typing import Generic, Protocol, TypeVar

from longshore.api.types import Obj
from longshore.machinery.queues.try_again import TryAgain
from longshore.machinery.time.clock import Clock

K = TypeVar("K", bound=Hashable)


class StaleCache(TryAgain):
    """The cache does not show this controller's own last write yet. Looking again a little later helps."""

    log_level = logging.DEBUG

    def __init__(self, resource: str, read: int, written: int) -> None:
        self.resource, self.read, self.written = resource, read, written
        super().__init__(
            f"read version: {read} is not as new as written version: {written} for group resource {resource}"
        )


class Versioned(Protocol):
    """The part of a cache that `OwnWrites` uses."""

    @property
    def revision(self) -> int: ...

    async def reached(self, revision: int) -> None: ...


class OwnWrites(Generic[K]):
    """Own writes by key. `caches` by resource: `{"jobs.batch": jobs.cache, "pods": pods.cache}`."""

    def __init__(self, caches: Mapping[str, Versioned], clock: Clock) -> None:
        self._caches, self._clock = caches, clock
        self._written: dict[K, _Written] = {}

    def wrote(self, key: K, uid: str, resource: str, answer: Obj) -> None:
        """Records the object that a write for `key` (an object with this `uid`) returned."""
        version: str = answer["metadata"].get("resourceVersion") or ""
        if not version.isdecimal():
            return
        known = self._written.get(key)
        if known is None or known.uid != uid:
            known = self._written[key] = _Written(uid)
        revision = int(version)
        if revision > known.highest.get(resource, 0):
            known.highest[resource] = revision
        known.versions.add((resource, version))

    def own(self, key: K, resource: str, obj: Obj) -> bool:
        """Whether the state of `obj`, just received, is one that a write for `key` returned."""
        known = self._written.get(key)
        return known is not None and (resource, obj["metadata"]["resourceVersion"]) in known.versions

    def check(self, key: K) -> None:
        """Raises `StaleCache` while a cache is older than a write; otherwise forgets the writes of `key`."""
        known = self._written.get(key)
        if known is None:
            return
        for resource, written in known.highest.items():
            cache = self._caches.get(resource)
            if cache is not None and cache.revision < written:
                raise StaleCache(resource, cache.revision, written)
        del self._written[key]

    async def wait(self, key: K, *, patience: float = 1.0) -> None:
        """Waits until the caches show the writes of `key`, usually a few milliseconds. Raises `StaleCache`
        after `patience` seconds."""
        with suppress(StaleCache):
            return self.check(key)
        with suppress(TimeoutError):
            async with self._clock.timeout(patience):
                for resource, written in [*self._written[key].highest.items()]:
                    cache = self._caches.get(resource)
                    if cache is not None:
                        await cache.reached(written)
        self.check(key)

    def forget(self, key: K, uid: str = "") -> None:
        """Forgets the writes of `key`; with `uid`, only those of that object."""
        known = self._written.get(key)
        if known is not None and uid in ("", known.uid):
            del self._written[key]


class _Written:
    __slots__ = ("highest", "uid", "versions")

    def __init__(self, uid: str) -> None:
        self.uid = uid
        self.highest: dict[str, int] = {}
        """The highest revision written, by resource."""
        self.versions: set[tuple[str, str]] = set()
        """Resource and version of every write since the last sync."""
