"""One selection of objects as it is followed: a reflector, a cache, and whoever wants to hear.

The cache is changed before handlers are called, one change at a time, in the server's order.

After a gap (a relist) handlers hear an update for what they knew, an addition for what is new, and a
deletion marked stale, with the last state known, for what vanished. An object that was replaced by
another of the same name is both: a stale deletion and an addition. What is not newer than the cached
object is not told twice.
"""

from __future__ import annotations

import asyncio
import logging
import random
from collections.abc import Callable, Iterable, Set
from typing import Final, TypeAlias, cast

from longshore.api.errors import StatusError
from longshore.api.facts import settled_objects
from longshore.api.types import Obj
from longshore.client import Client, Unreachable
from longshore.client.ask import known
from longshore.client.in_process import FirstLook
from longshore.client.protocol import Packed
from longshore.machinery.informers.cache import Cache, Key
from longshore.machinery.informers.deltas import Batch, Delta, Deltas, Kind
from longshore.machinery.informers.heard_objects import Audience
from longshore.machinery.informers.reflector import Reflector, Selection, revision_of
from longshore.machinery.informers.scopes import Covered, Scope, Scopes, mark_filled, mark_read
from longshore.machinery.informers.taking_in import TakingIn
from longshore.machinery.queues.backoff import Backoff
from longshore.machinery.time.clock import Clock, Timer

_TURN_CHANGES: Final = 512
"""Changes applied before others in the event loop get their turn."""

_QUIET_SECONDS: Final = 1.0
"""A watch that told nothing for so long may be late."""

Transform: TypeAlias = Callable[[Obj], Obj]
"""Gives the part of an object to keep: at least name, namespace, uid, resourceVersion. Changes no object."""

log = logging.getLogger(__name__)


class FollowedSelection:
    """Runs while at least one of its users does. Caches and tells what one of them wants (`scopes.py`)."""

    def __init__(
        self,
        client: Client,
        selection: Selection,
        *,
        clock: Clock,
        rng: random.Random,
        resync: float | None,
        transform: Transform | None,
    ) -> None:
        self.cache = Cache()
        self.audience = Audience()
        self.scopes = Scopes()
        self.synced = asyncio.Event()
        """Set once everything that existed at the first look is cached, and was told to the handlers."""
        self._users = 0
        self._task: asyncio.Task[None] | None = None
        self._clock, self._rng, self._resync, self._transform = clock, rng, resync, transform
        self._deltas = Deltas()
        self._work: list[Delta] = []
        """The changes of `_batch` that are being applied, last first."""
        self._batch: Batch | None = None
        self._running = self._awake = False
        self._timer: Timer | None = None
        self._reflector = Reflector(client, selection, self, self.scopes, clock=clock, rng=rng)
        self._looking: list[Covered] = []
        """The scopes that the list under way includes."""
        self._taking_in = TakingIn(client, selection, self.scopes, self._taken, clock=clock, rng=rng)
        self._following: asyncio.Task[None] | None = None
        self._client, self._selection = client, selection
        self._row = None if transform is not None else known(selection.what)
        kind = ("", "") if self._row is None else (self._row.group_version, self._row.kind)
        self._has_settled = settled_objects.RULES.get(kind)
        self._facts: Callable[[Packed], Obj] | None = None

    def tell_each_update(self) -> None:
        """From now on, for handlers to whom two updates mean another thing than both at once."""
        self._deltas.folds = False

    async def run(self, scope: Scope | None = None) -> None:
        """Follows for one user, until that one is cancelled; the last one ends it for good. Without a `scope`
        the user only wants that it goes on."""
        self._users += 1
        if scope is not None:
            self.scopes.begin(scope)
        if self._task is None:
            self._forget_unwanted()
            self._task = asyncio.create_task(self._run())
        elif self._reflector.follows:
            self._taking_in.wake()
        try:
            await asyncio.shield(self._task)
        finally:
            self._users -= 1
            if scope is not None:
                self.scopes.end(scope)
                if self._users and not scope.users:
                    self._forget_unwanted()
            if not self._users:
                self._running = False  # from now on no handler is called
                task, self._task = self._task, None
                task.cancel()
                await asyncio.gather(task, return_exceptions=True)

    def _forget_unwanted(self) -> None:
        """Who would have heard of it is gone: nobody is told."""
        self.scopes.forget_unwanted()
        if not self.scopes.everything:
            for key in [key for key in self.cache.all_keys() if not self.scopes.wants(key[0])]:
                self.cache.remove(key)
            self._work = [delta for delta in self._work if self.scopes.wants(delta[1][0])]
            self._deltas.keep(self.scopes.wants)

    @property
    def name(self) -> str:
        """The resource, for people."""
        return self._reflector.name

    @property
    def silence(self) -> float:
        """Seconds since the server last served it; 0 while a watch is open."""
        return self._reflector.silence

    @property
    def in_use(self) -> bool:
        return self._users > 0

    @property
    def is_filled(self) -> bool:
        """Whether everything was read once, and the cache has all that its users want."""
        return self.synced.is_set() and self.scopes.are_filled

    async def caught_up(self) -> None:
        """Waits until the cache shows everything that was written before this call.

        A watch that tells nothing for a while may be quiet or late, and nobody can say which. So everything
        is read again then. A cache that is not filled yet is filled anew: wait for `synced` then.
        """
        selection, pauses = self._selection, Backoff(self._clock, self._rng)
        while self.synced.is_set():
            try:
                version = await self._client.current_version(selection.what, selection.namespace)
                async with self._clock.timeout(_QUIET_SECONDS):
                    return await self.cache.reached(revision_of(version))
            except TimeoutError:
                self._read_again()
                return await self.cache.reached(revision_of(version))
            except (StatusError, Unreachable) as err:
                log.info("cannot ask for the version of %s: %s", self.name, err)
                await self._clock.sleep(pauses.next())
        self._read_again()  # a first look that began earlier may miss what was written since

    def _read_again(self) -> None:
        self._reflector.forget()
        if self._following is not None:
            self._following.cancel()

    async def _run(self) -> None:
        self._running = True
        self._wake()  # for changes that came as the last user ended
        if self._reflector.follows:
            self._taking_in.wake()  # for a user who wants something else than the last one did
        if self._resync is not None:
            self._timer = self._clock.call_later(self._resync, self._tell_all)
        try:
            while True:
                self._following = asyncio.create_task(self._reflector.run())
                await asyncio.wait((self._following,))
                if not self._following.cancelled():
                    self._following.result()
        finally:
            if self._following is not None:
                self._following.cancel()
            self._taking_in.stop()
            self._running = False
            if self._timer is not None:
                self._timer.cancel()

    # ---- what the reflector tells

    def list_begins(self) -> None:
        self._taking_in.stop()  # the list has all of it
        self._looking = self.scopes.covered()

    def listed(self, objects: Iterable[Obj]) -> None:
        self._deltas.listed(objects if self._transform is None else map(self._transform, objects))
        self._wake()

    def shown(self, look: FirstLook) -> None:
        self._facts = look.facts if self._transform is None else None
        self._deltas.shown(look.objects)
        self._wake()

    def list_ended(self, keys: Set[Key], revision: int) -> None:
        mark_read(self._looking)
        self._deltas.list_ended(keys, revision, self._looking)
        self._wake()
        self._taking_in.wake()  # for those who came meanwhile

    def added(self, obj: Obj, revision: int) -> None:
        self._deltas.added(obj if self._transform is None else self._transform(obj), revision)
        if not self._awake:
            self._wake()

    def modified(self, obj: Obj, revision: int) -> None:
        self._deltas.modified(obj if self._transform is None else self._transform(obj), revision)
        if not self._awake:
            self._wake()

    def deleted(self, obj: Obj, revision: int) -> None:
        if self._taking_in.is_reading:
            self._taking_in.deleted(obj)
        self._deltas.deleted(obj if self._transform is None else self._transform(obj), revision)
        if not self._awake:
            self._wake()

    def bookmark(self, revision: int) -> None:
        if self._running and not self._awake and self._batch is None:
            self.cache.advance(revision)  # nothing is on its way
            return
        self._deltas.bookmark(revision)
        if not self._awake:
            self._wake()

    def _taken(self, objects: Iterable[Obj], covered: list[Covered]) -> None:
        """Objects that somebody new wants; with them these scopes are complete."""
        mark_read(covered)
        self._deltas.taken(objects if self._transform is None else map(self._transform, objects), covered)
        self._wake()

    def _tell_all(self) -> None:
        assert self._resync is not None
        for obj in self.cache:
            self._deltas.resync(obj)
        self._wake()
        self._timer = self._clock.call_later(self._resync, self._tell_all)

    # ---- from the deltas to the cache and the handlers

    def _wake(self) -> None:
        """Applies what was collected once this turn of the loop is over: what comes together folds."""
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
        """The changes that a batch asks for, last first."""
        steps = batch.deltas
        if batch.everything is not None:
            gone = [key for key in self.cache.all_keys() if key not in batch.everything]
            vanished = [(Kind.VANISHED, key, old) for key in gone if (old := self.cache.get(*key))]
            steps = [*vanished, *steps]
        steps.reverse()
        return steps

    def _finish(self, batch: Batch) -> None:
        if batch.revision:
            self.cache.advance(batch.revision)
        mark_filled(batch.covered)
        if batch.everything is not None:
            self.synced.set()

    def _apply_shown(self, key: Key, packed: Packed) -> None:
        """An object of the first look. One that has settled is not unpacked for handlers that can do without:
        with 100,000 such pods a restart took 7.7 s, half of them to unpack and free what nobody asked for
        (bench/growth.py)."""
        facts, has_settled = self._facts, self._has_settled
        if facts is not None and has_settled is not None and self.cache.get(*key) is None:
            found = facts(packed)
            if has_settled(found):
                self.cache.put(key, found, packed)
                self.audience.tell_settled(key, found, packed)
                return
        obj = packed.obj
        self._apply((Kind.LISTED, key, obj if self._transform is None else self._transform(obj)))

    def _apply(self, delta: Delta) -> None:
        kind, key, obj = delta
        if not (self.scopes.everything or self.scopes.wants(key[0])):
            return
        if kind is Kind.SHOWN:
            self._apply_shown(key, cast(Packed, obj))
            return
        obj = cast(Obj, obj)
        cache, audience = self.cache, self.audience
        old = cache.get(*key)
        if kind is Kind.MODIFIED or kind is Kind.ADDED or kind is Kind.LISTED or kind is Kind.TAKEN:
            if old is None:
                self._put(key, obj)
                audience.tell_add(key, obj, kind is not Kind.ADDED and not self.scopes.has(key[0]))
            elif kind is not Kind.LISTED and not _newer(obj, old):
                return
            elif _same(obj, old):
                self._put(key, obj)
                audience.tell_update(key, old, obj)
            else:
                cache.remove(key)
                audience.tell_delete(key, old, True)
                self._put(key, obj)
                audience.tell_add(key, obj, False)
        elif old is None:
            return
        elif kind is Kind.RESYNC:
            audience.tell_update(key, old, old)
        elif kind is Kind.VANISHED:
            cache.remove(key)
            audience.tell_delete(key, old, True)
        elif _same(obj, old):
            cache.remove(key)
            audience.tell_delete(key, obj, False)

    def _put(self, key: Key, obj: Obj) -> None:
        """Caches an object; one that has settled, or is at rest, as the client packs it."""
        packed, row, client = None, self._row, self._client
        has_settled = self._has_settled
        if row is not None and has_settled is not None and (has_settled(obj) or client.is_at_rest(row, obj)):
            packed = client.packed(row, obj)
        self.cache.put(key, obj, packed)


def _same(one: Obj, other: Obj) -> bool:
    """Whether both are states of one object, not of two that had the same name."""
    uid: bool = one["metadata"].get("uid") == other["metadata"].get("uid")
    return uid


def _newer(obj: Obj, than: Obj) -> bool:
    mine, other = obj["metadata"]["resourceVersion"], than["metadata"]["resourceVersion"]
    return not (mine.isdecimal() and other.isdecimal()) or int(mine) > int(other)
