"""One selection of objects that is followed: a reflector, a cache and the handlers of its users.

The cache is changed before handlers are called, one change at a time, in the server's order. After a gap (a
relist) handlers get an update for each object they knew, an addition for each new one, and a deletion marked
stale, with the last known state, for each that vanished. An object replaced by another of the same name
causes a stale deletion and an addition. A state that is not newer than the cached object is skipped.

Updates of one object that arrive together become the last of them, unless a handler asks for each one.
Creations and deletions are never folded, since controllers wait to see each one; nor is an update folded into
a creation.
"""

from __future__ import annotations

import asyncio
import random
from collections import deque
from collections.abc import Iterable, Sequence, Set
from enum import Enum
from typing import Final, TypeAlias

import msgspec

from longshore.api.facts import settled_objects
from longshore.api.types import Obj
from longshore.client import Client
from longshore.client.ask import known
from longshore.client.projection import Projection
from longshore.client.protocol import Packed
from longshore.client.source import (
    Begin,
    Bookmark,
    Change,
    Changed,
    Entry,
    Listed,
    ListEnded,
    Seen,
    Unpacked,
)
from longshore.machinery.informers.cache import Cache, Key
from longshore.machinery.informers.heard_objects import Audience
from longshore.machinery.informers.reflector import Reflector, Selection, revision_of
from longshore.machinery.time.clock import Clock, Timer

_TURN_CHANGES: Final = 512
"""Changes applied before other callbacks of the event loop run."""


class Kind(Enum):
    """The kind of a change, from the server or from our own resync timer."""

    ADDED = "it exists, in this state"
    MODIFIED = "it exists, now in this state"
    LISTED = "it exists, in this state, whatever we knew"
    DELETED = "it was deleted, and this was its last state"
    VANISHED = "it is gone, and we missed how"
    RESYNC = "look at it again"


_KINDS: Final = {"ADDED": Kind.ADDED, "MODIFIED": Kind.MODIFIED, "DELETED": Kind.DELETED}
Delta: TypeAlias = tuple[Kind, Key, Entry]
"""One change. A plain tuple, since thousands are made each second."""


class Batch(msgspec.Struct):
    """Changes in order, and the `revision` of the cache after them; 0 if it stays."""

    everything: Set[Key] | None = None
    """The keys of all objects, if a list ended before these changes."""
    deltas: list[Delta] = msgspec.field(default_factory=list)
    revision: int = 0


class Deltas:
    """Collects changes in batches until they are taken."""

    def __init__(self) -> None:
        self._full: deque[Batch] = deque()
        self._batch = Batch()
        self._last: dict[Key, int] = {}
        """The position of each object's last change in the batch."""
        self.folds = True
        """Whether updates of one object that arrive together are folded into one."""

    def listed(self, entries: Iterable[Entry]) -> None:
        """Adds objects of a list that is under way."""
        for entry in entries:
            self._append((Kind.LISTED, entry.place, entry))

    def list_ended(self, keys: Set[Key], revision: int) -> None:
        """Ends the list, which had these keys. Changes collected before stay in an earlier batch."""
        self._close()
        self._batch = Batch(everything=keys, revision=revision)

    def changed(self, changes: Sequence[Change], revision: int) -> None:
        """Adds changes; the last of them has this revision."""
        for type, entry in changes:
            key, kind = entry.place, _KINDS[type]
            if kind is Kind.MODIFIED and self.folds:
                at = self._last.get(key)
                if at is not None and self._batch.deltas[at][0] is Kind.MODIFIED:
                    self._batch.deltas[at] = (Kind.MODIFIED, key, entry)
                    continue
            self._append((kind, key, entry))
        self._batch.revision = revision

    def resync(self, obj: Obj) -> None:
        """Adds a resync of the object, unless the batch has a change of it already."""
        entry = Unpacked(obj)
        if entry.place not in self._last:
            self._append((Kind.RESYNC, entry.place, entry))

    def bookmark(self, revision: int) -> None:
        """Sets the revision of the batch: up to it there are no more changes."""
        self._batch.revision = revision

    def take(self) -> Batch | None:
        """The oldest batch; None if nothing was collected."""
        if self._full:
            return self._full.popleft()
        self._close()
        return self._full.popleft() if self._full else None

    def _close(self) -> None:
        """Begins a new batch, unless this one is empty."""
        batch = self._batch
        if batch.deltas or batch.revision or batch.everything is not None:
            self._full.append(batch)
            self._batch, self._last = Batch(), {}

    def _append(self, delta: Delta) -> None:
        self._last[delta[1]] = len(self._batch.deltas)
        self._batch.deltas.append(delta)


class FollowedSelection:
    """A selection that is followed while it has at least one user."""

    def __init__(
        self,
        client: Client,
        selection: Selection,
        *,
        clock: Clock,
        rng: random.Random,
        resync: float | None,
        reads: Projection,
    ) -> None:
        self.cache = Cache()
        self.audience = Audience()
        self.synced = asyncio.Event()
        """Set once all objects of the first list are cached and the handlers were called for them."""
        self._users = 0
        self._task: asyncio.Task[None] | None = None
        self._clock, self._resync, self._reads = clock, resync, reads
        self._deltas = Deltas()
        self._work: list[Delta] = []
        """The changes of `_batch` that still have to be applied, last first."""
        self._batch: Batch | None = None
        self._running = self._awake = False
        self._timer: Timer | None = None
        self._listing: set[Key] | None = None
        """The keys of the list under way; None if there is none."""
        self._kept: list[Entry] = []
        """The objects of the list under way, if it is not the first list."""
        self._is_read = False
        """Whether one list was read completely."""
        self._reflector = Reflector(client, selection, self.take, clock=clock, rng=rng, reads=reads)
        row = known(selection.what)
        self._has_settled = None if row is None else settled_objects.RULES.get((row.group_version, row.kind))

    def tell_each_update(self) -> None:
        """Stops folding updates, for handlers that must see each update of an object."""
        self._deltas.folds = False

    async def run(self) -> None:
        """Follows the selection for one user until cancelled; stops following with the last user."""
        self._users += 1
        if self._task is None:
            self._task = asyncio.create_task(self._run())
        try:
            await asyncio.shield(self._task)
        finally:
            self._users -= 1
            if not self._users:
                self._running = False  # from now on no handler is called
                task, self._task = self._task, None
                task.cancel()
                await asyncio.gather(task, return_exceptions=True)

    @property
    def name(self) -> str:
        """The name of the resource, for logs."""
        return self._reflector.name

    @property
    def silence(self) -> float:
        """Seconds since the server last answered for this resource; 0 while a watch is open."""
        return self._reflector.silence

    @property
    def in_use(self) -> bool:
        return self._users > 0

    @property
    def is_filled(self) -> bool:
        """Whether all objects of the first list are cached."""
        return self.synced.is_set()

    async def _run(self) -> None:
        self._running = True
        self._wake()  # for changes that came as the last user ended
        if self._resync is not None:
            self._timer = self._clock.call_later(self._resync, self._tell_all)
        try:
            await self._reflector.run()
        finally:
            self._running = False
            if self._timer is not None:
                self._timer.cancel()

    def take(self, seen: Seen) -> None:
        """Collects what the reflector sees.

        Objects of the first list are passed on as they arrive, so that 100,000 are never unpacked at once.
        Objects of a later list are held back until it is complete: if it breaks off, handlers must not see
        half of it.
        """
        match seen:
            case Changed(changes, version):
                if self._listing is None:
                    self._deltas.changed(changes, revision_of(version))
                else:  # deletions
                    self._listing.difference_update(entry.place for _, entry in changes)
            case Bookmark(version):
                if self._running and not self._awake and self._batch is None:
                    self.cache.advance(revision_of(version))  # nothing is on its way
                    return
                self._deltas.bookmark(revision_of(version))
            case Begin():
                self._listing, self._kept = set(), []
                return
            case Listed(entries):
                assert self._listing is not None
                self._listing.update(entry.place for entry in entries)
                if self._is_read:
                    self._kept += entries
                    return
                self._deltas.listed(entries)
            case ListEnded(version):
                assert self._listing is not None
                self._deltas.listed(self._kept)
                self._deltas.list_ended(self._listing, revision_of(version))
                self._listing, self._kept, self._is_read = None, [], True
        if not self._awake:
            self._wake()

    def _tell_all(self) -> None:
        assert self._resync is not None
        for obj in self.cache:
            self._deltas.resync(obj)
        self._wake()
        self._timer = self._clock.call_later(self._resync, self._tell_all)

    # ---- from the deltas to the cache and the handlers

    def _wake(self) -> None:
        """Applies the collected changes after this turn of the loop, so that simultaneous changes fold."""
        if not self._awake:
            self._awake = True
            asyncio.get_running_loop().call_soon(self._apply_some)

    def _apply_some(self) -> None:
        self._awake = False
        left = _TURN_CHANGES
        while self._running:
            work = self._work
            while work and left:
                self._apply(work.pop())
                left -= 1
            if work:
                self._wake()
                return
            if self._batch is not None:
                self._finish(self._batch)
            self._batch = self._deltas.take()
            if self._batch is None:
                return
            self._work = self._steps(self._batch)

    def _steps(self, batch: Batch) -> list[Delta]:
        """The changes of a batch, last first, including objects that vanished."""
        steps = batch.deltas
        if batch.everything is not None:
            gone = [key for key in self.cache.all_keys() if key not in batch.everything]
            vanished = [(Kind.VANISHED, key, Unpacked(old)) for key in gone if (old := self.cache.get(*key))]
            steps = [*vanished, *steps]
        steps.reverse()
        return steps

    def _finish(self, batch: Batch) -> None:
        if batch.revision:
            self.cache.advance(batch.revision)
        if batch.everything is not None:
            self.synced.set()

    def _apply(self, delta: Delta) -> None:
        kind, key, entry = delta
        cache, audience = self.cache, self.audience
        old = cache.get(*key)
        if kind is Kind.MODIFIED or kind is Kind.ADDED or kind is Kind.LISTED:
            obj, packed = self._read(entry, is_first=kind is Kind.LISTED and old is None)
            if old is None:
                cache.put(key, obj, packed)
                audience.tell_add(obj, kind is not Kind.ADDED and not self.synced.is_set())
            elif kind is not Kind.LISTED and not _newer(obj, old):
                return
            elif _same(obj, old):
                cache.put(key, obj, packed)
                audience.tell_update(old, obj)
            else:
                cache.remove(key)
                audience.tell_delete(old, True)
                cache.put(key, obj, packed)
                audience.tell_add(obj, False)
        elif old is None:
            return
        elif kind is Kind.RESYNC:
            audience.tell_update(old, old)
        elif kind is Kind.VANISHED:
            cache.remove(key)
            audience.tell_delete(old, True)
        elif _same(obj := entry.read(self._reads), old):
            cache.remove(key)
            audience.tell_delete(obj, False)

    def _read(self, entry: Entry, *, is_first: bool) -> tuple[Obj, Packed | None]:
        """The fields of an object that are read, and the form in which the cache holds it.

        Of an object that had settled before the first list only the facts are read: with 100,000 such pods a
        restart took 7.7 s, half of it to unpack and free objects that no handler needed (bench/growth.py)."""
        has_settled = self._has_settled
        if has_settled is None:
            return entry.read(self._reads), None
        if is_first and not self.synced.is_set() and has_settled(facts := entry.facts):
            return facts, entry.packed(True)
        obj = entry.read(self._reads)
        return obj, entry.packed(has_settled(obj))


def _same(one: Obj, other: Obj) -> bool:
    """Whether both are states of one object, and not of two objects with the same name."""
    uid: bool = one["metadata"].get("uid") == other["metadata"].get("uid")
    return uid


def _newer(obj: Obj, than: Obj) -> bool:
    mine, other = obj["metadata"]["resourceVersion"], than["metadata"]["resourceVersion"]
    return not (mine.isdecimal() and other.isdecimal()) or int(mine) > int(other)
