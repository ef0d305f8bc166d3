"""Read your own writes: a controller looks at a key again only when its caches show what it wrote.

Remembers the highest resourceVersion each owner's writes were answered with, per resource, and compares
it with what the informer of that resource has seen. Deletes have no version of their own and are not
recorded; expectations cover them. Versions that are not numbers never hold anything up.

So a change that the controller made itself is always heard before it looks at the key again, and tells it
nothing that the look which made it did not know (`own`).
"""

from __future__ import annotations

import logging
from collections.abc import Hashable, Mapping
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
    """The part of a cache that is used here."""

    @property
    def revision(self) -> int: ...

    async def reached(self, revision: int) -> None: ...


class OwnWrites(Generic[K]):
    """`caches` by qualified resource: `{"jobs.batch": jobs.cache, "pods": pods.cache}`."""

    def __init__(self, caches: Mapping[str, Versioned], clock: Clock) -> None:
        self._caches, self._clock = caches, clock
        self._records: dict[K, _Record] = {}

    def wrote(self, key: K, uid: str, resource: str, answer: Obj) -> None:
        """Records the object a write of `key` (whose own uid is `uid`) was answered with."""
        version: str = answer["metadata"].get("resourceVersion") or ""
        if not version.isdecimal():
            return
        record = self._records.get(key)
        if record is None or record.uid != uid:
            record = self._records[key] = _Record(uid)
        revision = int(version)
        if revision > record.highest.get(resource, 0):
            record.highest[resource] = revision
        record.versions.add((resource, version))

    def own(self, key: K, resource: str, obj: Obj) -> bool:
        """Whether `obj`, just heard of, is in a state that a write of `key` was answered with."""
        record = self._records.get(key)
        return record is not None and (resource, obj["metadata"]["resourceVersion"]) in record.versions

    def check(self, key: K) -> None:
        """Raises `StaleCache` while a cache is older than a write; once it is not, forgets the writes."""
        record = self._records.get(key)
        if record is None:
            return
        for resource, written in record.highest.items():
            cache = self._caches.get(resource)
            if cache is not None and cache.revision < written:
                raise StaleCache(resource, cache.revision, written)
        del self._records[key]

    async def wait(self, key: K, *, patience: float = 1.0) -> None:
        """Waits until the caches show the writes of `key`, which is a moment as a rule. Raises `StaleCache`
        when it takes longer than `patience` seconds."""
        record = self._records.get(key)
        if record is None:
            return
        try:
            async with self._clock.timeout(patience):
                for resource, written in [*record.highest.items()]:
                    cache = self._caches.get(resource)
                    if cache is not None:
                        await cache.reached(written)
        except TimeoutError:
            pass
        self.check(key)

    def forget(self, key: K, uid: str = "") -> None:
        """Forgets the writes of `key`; with `uid`, only those of that object."""
        record = self._records.get(key)
        if record is not None and uid in ("", record.uid):
            del self._records[key]


class _Record:
    __slots__ = ("highest", "uid", "versions")

    def __init__(self, uid: str) -> None:
        self.uid = uid
        self.highest: dict[str, int] = {}
        """The last revision by resource."""
        self.versions: set[tuple[str, str]] = set()
        """Resource and version of every write since the last look."""
