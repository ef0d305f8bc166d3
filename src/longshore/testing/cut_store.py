"""A store in memory whose watches can be cut and whose history can be forgotten, to test watchers.

`of` makes a store with given objects; the restore of a snapshot uses it.
"""

from __future__ import annotations

from collections.abc import Iterable

from longshore.store import Key, Store
from longshore.store.batch import Batch
from longshore.store.contents import FIRST_REVISION, Contents
from longshore.store.memory_limits import Limits
from longshore.store.types import Entry
from longshore.store.watch import Watch
from longshore.testing.observed_front import OVER_HTTP
from longshore.testing.promises import LEDGER_STORAGES, Ledger


class CutStore(Store):
    """Keeps nothing on disk. `of` makes a store with initial objects."""

    def __init__(self, found: Contents, limits: Limits) -> None:
        super().__init__(None, found, limits)
        self.ledger = Ledger()
        self._local: list[Watch] = []
        """Watches of this process's own parts."""

    @classmethod
    def of(cls, objects: Iterable[tuple[Key, int, bytes]] = (), revision: int = FIRST_REVISION) -> CutStore:
        """A store with these objects, each with its revision, and no history before `revision`."""
        limits = Limits()
        contents = Contents(limits, revision, journalled=False)
        for key, at, raw in objects:
            contents.state.put(Entry(key, at, raw, contents.decoded))
        return cls(contents, limits)

    def objects(self) -> list[tuple[Key, int, bytes]]:
        """Every object as it is now."""
        return [
            (entry.key, entry.revision, entry.raw)
            for storage in self.counts()
            for entry in self._contents.state.entries(storage, None)
        ]

    def _durable(self, batch: Batch) -> None:
        super()._durable(batch)
        for event in batch.events:
            if event.entry.key.storage in LEDGER_STORAGES:
                self.ledger.note(event)

    def watch(self, storage: str, namespace: str | None = None, since: int | None = None) -> Watch:
        made = super().watch(storage, namespace, since)
        if not OVER_HTTP.get():
            self._local = [each for each in self._local if each.is_open]
            self._local.append(made)
        return made

    def cut_local_watches(self) -> None:
        """Ends all watches of this process's own parts, as a connection that breaks does."""
        for each in self._local:
            each.close()
        self._local.clear()

    def forget_history(self) -> None:
        """Forgets older revisions: a watch that goes on from one of them has to list again."""
        self._contents.window.forget(self.revision)
