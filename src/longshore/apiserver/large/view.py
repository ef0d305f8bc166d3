"""The store as a verb in the other process sees it: current objects, and what the verb itself has written."""

from __future__ import annotations

import builtins
from collections.abc import Callable
from typing import Final

from longshore.api.types import Obj, encode
from longshore.apiserver.large.worker_messages import Planned, StoreAnswer, Stored, StoreQuestion
from longshore.store import Entry, Key, Snapshot, Staged
from longshore.store.batch import Batch
from longshore.store.decoded_views import Decoded

_DECODED_BYTES: Final = 16 << 20
_NO_BATCH: Final = Batch()


class StoredView:
    """The part of a Store that verbs use. `ask` returns the answer of the real store."""

    def __init__(self, ask: Callable[[StoreQuestion], StoreAnswer]) -> None:
        self._ask = ask
        self._decoded = Decoded(_DECODED_BYTES)
        self._written: dict[Key, Entry | None] = {}
        self.planned: list[tuple[Entry, bool, bool]] = []
        """Each write: its entry, whether it is a delete, and whether it is joined to the write before."""
        self.needs_room = False

    @property
    def revision(self) -> int:
        return self._ask(StoreQuestion("revision", ())).revision

    def latest(self, key: Key) -> Entry | None:
        if key in self._written:
            return self._written[key]
        return self._one("latest", key)

    def get(self, key: Key) -> Entry | None:
        return self._one("get", key)

    def is_empty(self, storage: str) -> bool:
        return self._ask(StoreQuestion("is_empty", (storage,))).is_empty

    def latest_list(self, storage: str, namespace: str | None = None) -> list[Entry]:
        answer = self._ask(StoreQuestion("latest_list", (storage, namespace)))
        found = [self._entry(each) for each in answer.found]
        kept = [entry for entry in found if entry.key not in self._written]
        return kept + [
            entry
            for key, entry in self._written.items()
            if entry is not None and key.storage == storage and namespace in (None, key.namespace)
        ]

    def list(self, storage: str, namespace: str | None = None) -> Snapshot:
        told = self._ask(StoreQuestion("list", (storage, namespace)))
        return Snapshot(told.revision, [self._entry(each) for each in told.found])

    def check_room(self) -> None:
        """Has the server check the disk space when it stages the write."""
        self.needs_room = True

    def stage(self, key: Key, obj: Obj, *, joined: bool = False) -> Staged:
        return self._plan(key, obj, deletes=False, joined=joined)

    def stage_update(self, newest: Entry, obj: Obj, *, joined: bool = False) -> Staged:
        return self._plan(newest.key, obj, deletes=False, joined=joined)

    def stage_delete(self, key: Key, obj: Obj, *, joined: bool = False) -> Staged:
        return self._plan(key, obj, deletes=True, joined=joined)

    def writes(self) -> builtins.list[Planned]:
        """Everything to be staged, in order."""
        return [
            Planned((entry.key.storage, *entry.key.place), encode(entry.obj), deletes, joined)
            for entry, deletes, joined in self.planned
        ]

    def _plan(self, key: Key, obj: Obj, *, deletes: bool, joined: bool) -> Staged:
        entry = Entry(key, 0, b"", self._decoded, obj)
        self.planned.append((entry, deletes, joined))
        self._written[key] = None if deletes else entry
        return Staged(entry, _NO_BATCH)

    def _one(self, name: str, key: Key) -> Entry | None:
        found = self._ask(StoreQuestion(name, (key.storage, key.namespace, key.name))).found
        return self._entry(found[0]) if found else None

    def _entry(self, stored: Stored) -> Entry:
        storage, namespace, name, revision, raw = stored
        return Entry(Key(storage, namespace, name), revision, raw, self._decoded)
