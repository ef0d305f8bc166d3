"""Changes on their way from the server to the cache: in order, and with repeats folded into one.

Updates of one object that come together become the last of them, unless somebody asks for each. A creation
or a deletion is never folded away, since controllers wait to see each one; nor does an update change what a
creation showed.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Set
from enum import Enum
from typing import TypeAlias

import msgspec

from longshore.api.types import Obj
from longshore.client.in_process import Stored
from longshore.client.protocol import Only, Packed
from longshore.machinery.informers.cache import Key, key_of
from longshore.machinery.informers.scopes import Covered


class Kind(Enum):
    """The kind of a change, from the server or from our own clock."""

    ADDED = "it exists, in this state"
    MODIFIED = "it exists, now in this state"
    LISTED = "it exists, in this state, whatever we knew"
    TAKEN = "it exists, in this state or a newer one that we know"
    SHOWN = "it exists, in this state, which is still packed"
    DELETED = "it was deleted, and this was its last state"
    VANISHED = "it is gone, and we missed how"
    RESYNC = "look at it again"


Delta: TypeAlias = tuple[Kind, Key, Obj | Packed]
"""A plain tuple, since thousands a second are made."""


class Batch(msgspec.Struct):
    """Changes in order; all of it as of `revision`, unless that is 0."""

    everything: Set[Key] | None = None
    """If a list has ended before these changes: the keys of all that was on it."""
    deltas: list[Delta] = msgspec.field(default_factory=list)
    revision: int = 0
    covered: list[Covered] = msgspec.field(default_factory=list)
    """Scopes that are complete with these changes."""


class Deltas:
    """Collects until somebody takes it, batch by batch."""

    def __init__(self) -> None:
        self._full: deque[Batch] = deque()
        self._batch = Batch()
        self._last: dict[Key, int] = {}
        """Where in the batch the last change of each object stands."""
        self.folds = True
        """Whether updates that come together are folded into one."""

    def listed(self, objects: Iterable[Obj]) -> None:
        """Takes some objects of a list."""
        for obj in objects:
            self._append((Kind.LISTED, key_of(obj), obj))

    def shown(self, objects: Iterable[Stored]) -> None:
        """Takes all objects of a first look."""
        self._batch.deltas += [(Kind.SHOWN, key, packed) for key, packed in objects]

    def list_ended(self, keys: Set[Key], revision: int, covered: Iterable[Covered] = ()) -> None:
        """The list is complete: it had these keys. Changes collected before are still told first."""
        self._close()
        self._batch = Batch(everything=keys, revision=revision, covered=[*covered])

    def taken(self, objects: Iterable[Obj], covered: Iterable[Covered] = ()) -> None:
        """Takes some objects that were not wanted before. If these scopes are complete with them, that is
        told before any change that comes later."""
        for obj in objects:
            self._append((Kind.TAKEN, key_of(obj), obj))
        self._batch.covered += covered
        if self._batch.covered:
            self._close()

    def added(self, obj: Obj, revision: int) -> None:
        self._append((Kind.ADDED, key_of(obj), obj))
        self._batch.revision = revision

    def modified(self, obj: Obj, revision: int) -> None:
        key = key_of(obj)
        self._batch.revision = revision
        at = self._last.get(key) if self.folds else None
        if at is not None and self._batch.deltas[at][0] is Kind.MODIFIED:
            self._batch.deltas[at] = (Kind.MODIFIED, key, obj)
        else:
            self._append((Kind.MODIFIED, key, obj))

    def deleted(self, obj: Obj, revision: int) -> None:
        self._append((Kind.DELETED, key_of(obj), obj))
        self._batch.revision = revision

    def resync(self, obj: Obj) -> None:
        """Nothing if a change of the object is on its way already."""
        key = key_of(obj)
        if key not in self._last:
            self._append((Kind.RESYNC, key, obj))

    def bookmark(self, revision: int) -> None:
        """Nothing else has happened up to here."""
        self._batch.revision = revision

    def keep(self, wants: Only) -> None:
        """Forgets changes of objects in namespaces that nobody wants any more."""
        for batch in (*self._full, self._batch):
            batch.deltas = [delta for delta in batch.deltas if wants(delta[1][0])]
        self._last = {key: at for at, (_, key, _) in enumerate(self._batch.deltas)}

    def take(self) -> Batch | None:
        """The oldest batch; None when nothing was collected."""
        if self._full:
            return self._full.popleft()
        self._close()
        return self._full.popleft() if self._full else None

    def _close(self) -> None:
        """Begins a new batch, unless nothing was collected."""
        batch = self._batch
        if batch.deltas or batch.revision or batch.everything is not None or batch.covered:
            self._full.append(batch)
            self._batch, self._last = Batch(), {}

    def _append(self, delta: Delta) -> None:
        self._last[delta[1]] = len(self._batch.deltas)
        self._batch.deltas.append(delta)
