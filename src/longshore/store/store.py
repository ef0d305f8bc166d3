"""The store: all objects in memory, and every write in the journal before any reader sees it.

All methods are called in the event loop's thread and, except for waiting, are synchronous. A writer reads
`latest`, computes and stages without an await in between, so no two writers interleave. Readers and watchers
see durable state only.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from longshore.api.retention import Retention
from longshore.api.types import Obj, encode
from longshore.store import contents, notes
from longshore.store.batch import Batch, Staged
from longshore.store.commit import Commit, CommitInMemory, Counters, GroupCommit
from longshore.store.contents import Contents
from longshore.store.errors import Compacted, DiskFull, FutureRevision, NothingOnDisk, StoreClosed
from longshore.store.journal import Durability, Journal, NoJournal
from longshore.store.memory_limits import Limits
from longshore.store.notes import Bundle, Notes
from longshore.store.state import Overlay
from longshore.store.types import Entry, Event, EventType, Key, Page, Snapshot
from longshore.store.watch import Hub, Watch
from longshore.store.writers import InTurn, WriterThread, beside

if TYPE_CHECKING:
    from longshore.store.disk import Disk


_FULL_DISK_EVENTS = 64
"""Changes kept for watchers while the disk is full: the journal rows of older ones make room."""


class Store:
    """All objects of one longshore. Create one with `Store.open`."""

    def __init__(
        self, disk: Disk | None, found: Contents, limits: Limits, retention: Retention | None = None
    ) -> None:
        retention = retention or Retention()
        self._disk = disk
        self._contents = found
        self._assigned = found.revision
        self._staged = Overlay(found.state)
        self._hub = Hub(limits.lag_events, limits.lag_bytes)
        journal: Journal = disk.journal if disk is not None else NoJournal()
        writer = WriterThread() if disk is not None else InTurn()
        engine = GroupCommit if disk is not None else CommitInMemory
        self._commit = engine(journal, writer, found.window, self._durable, self._staged.clear)
        self._journal = journal
        self.reasons = Notes(notes.reasons(retention), found.notes, self._note)
        """The reasons of plans, kept beside the objects."""
        self.finished_jobs = Notes(notes.finished_jobs(retention), found.notes, self._note)
        """The records of Jobs that have ended and did not fail, kept beside the objects."""
        self.failed_jobs = Notes(notes.failed_jobs(retention), found.notes, self._note)
        """The records of Jobs that failed, kept beside the objects."""
        self._waiting: dict[asyncio.Future[None], int] = {}
        self._closed = False
        self._copying: set[asyncio.Task[None]] = set()
        # Called several times for every write, so bound here without a call in between.
        self.get: Callable[[Key], Entry | None] = found.state.get
        """For readers: the newest durable state."""
        self.latest: Callable[[Key], Entry | None] = self._staged.latest
        """For writers: the newest state, staged or durable, on which the next write builds."""
        self.is_empty: Callable[[str], bool] = self._staged.is_empty
        """For writers: whether a storage has no objects, staged or durable."""

    @classmethod
    def open(
        cls,
        directory: Path | None,
        *,
        durability: Durability = "normal",
        limits: Limits | None = None,
        retention: Retention | None = None,
        revision: int = contents.FIRST_REVISION,
    ) -> Store:
        """Opens the store of a data directory, which is created if it is missing. With None the store keeps
        nothing on disk and begins at `revision`.

        Raises `DataDirBusy`, `JournalCorrupt`, `SchemaTooNew` or `JournalUnusable`.
        """
        limits = limits or Limits()
        if directory is None:
            return cls(None, Contents(limits, revision, journalled=False), limits, retention)
        from longshore.store.disk import open_disk  # file locks differ between systems

        return cls(*open_disk(directory, durability, limits), limits, retention)

    @property
    def revision(self) -> int:
        """The last durable revision, which is the last visible one."""
        return self._contents.revision

    @property
    def oldest(self) -> int:
        """The oldest revision in the window: a watch may resume from the revision before it."""
        return self._contents.window.compacted + 1

    @property
    def counters(self) -> Counters:
        return self._commit.counters

    def on_commit(self, hook: Callable[[Commit], None] | None) -> None:
        """Calls `hook` after each commit, for metrics."""
        self._commit.on_commit = hook

    def counts(self) -> dict[str, int]:
        """The number of objects in each storage."""
        return self._contents.state.counts()

    # For writers

    def latest_list(self, storage: str, namespace: str | None = None) -> list[Entry]:
        """The newest states, staged or durable, of one storage (or one namespace of it), for writers that
        must count."""
        entries = self._contents.state.entries(storage, namespace)
        changed = self._staged.of(storage)
        if not changed:
            return entries
        kept = [e for e in entries if e.key not in changed]
        return kept + [
            event.entry
            for key, event in changed.items()
            if event.type != "DELETED" and namespace in (None, key.namespace)
        ]

    @property
    def is_short(self) -> bool:
        """Whether the disk is full: new objects are refused, changes and deletions are not."""
        return self._disk is not None and self._disk.is_short

    @property
    def missing_file(self) -> Path | None:
        """A file of the journal that was removed or replaced; None while all are there."""
        return self._disk.journal.files.missing if self._disk is not None else None

    def check_room(self) -> None:
        """Refuses new objects while the disk is full: raises `DiskFull`."""
        disk = self._disk
        if disk is not None and disk.is_short:
            raise DiskFull("new objects are refused; changes and deletions are not")

    def stage(self, key: Key, obj: Obj, *, joined: bool = False) -> Staged:
        """Writes an object. Takes `obj` over: the store sets its resourceVersion, and it may not be changed
        afterwards.

        A `joined` write belongs to the write staged just before it in the same turn of the loop: both
        become durable, or neither.
        """
        previous = self.latest(key)
        return self._stage(key, obj, previous, "ADDED" if previous is None else "MODIFIED", joined)

    def stage_update(self, newest: Entry, obj: Obj, *, joined: bool = False) -> Staged:
        """Writes the next state of an object whose `newest` state the writer has just read. Takes `obj` over
        as `stage` does."""
        return self._stage(newest.key, obj, newest, "MODIFIED", joined)

    def stage_delete(self, key: Key, obj: Obj, *, joined: bool = False) -> Staged:
        """Removes an object, which must exist. `obj` is its last state; the store takes it over as `stage`
        does."""
        previous = self.latest(key)
        if previous is None:
            raise KeyError(key)
        return self._stage(key, obj, previous, "DELETED", joined)

    def _stage(self, key: Key, obj: Obj, previous: Entry | None, kind: EventType, joined: bool) -> Staged:
        if self._closed:
            raise StoreClosed
        revision = self._assigned + 1
        obj["metadata"]["resourceVersion"] = str(revision)
        key = contents.shared(key) if previous is None else previous.key
        decoded = self._contents.decoded
        entry = Entry(key, revision, encode(obj), decoded, obj)
        decoded.keep(entry)
        event = Event(revision, kind, entry, previous)
        batch = self._commit.add(event, joined=joined)
        self._assigned = revision
        self._staged.put(event)
        return Staged(entry, batch)

    def _durable(self, batch: Batch) -> None:
        """Makes a batch visible, all of it at one moment."""
        if self._disk is not None:
            self._disk.acknowledge(batch.events[-1].revision)
        self._contents.apply(batch.events)
        if self._disk is not None and self._disk.journal.reserve.was_short:
            self._contents.window.trim(_FULL_DISK_EVENTS)
        self._staged.forget(batch.events)
        self._hub.publish(batch.events)
        for waiter, revision in self._waiting.items():
            if revision <= self.revision and not waiter.done():
                waiter.set_result(None)

    def _note(self, bundle: Bundle, first: int) -> None:
        if not self._closed:
            self._journal.note(bundle, first)
            self._commit.tidy_soon()

    # For readers

    def list(self, storage: str, namespace: str | None = None) -> Snapshot:
        """The current objects of a storage, or of one namespace in it."""
        return Snapshot(self.revision, self._contents.state.entries(storage, namespace))

    def list_at(self, storage: str, namespace: str | None, revision: int) -> Snapshot:
        """The objects of a storage, or of one namespace in it, at an older revision. Raises `Compacted` or
        `FutureRevision`."""
        self._check_past(revision)
        now = self._contents.state.entries(storage, namespace)
        changes = self._contents.window.after(revision, storage, namespace)
        return Snapshot(revision, self._contents.window.rewind(now, changes))

    def page(self, storage: str, namespace: str | None, start: tuple[str, str] | None, limit: int) -> Page:
        """Up to `limit` current objects at and after a place. Costs no more in a larger storage."""
        state = self._contents.state
        found = state.first_page(storage, namespace, start, limit)
        return Page(self.revision, found, state.count_from(storage, namespace, start) - len(found))

    def page_at(
        self,
        storage: str,
        namespace: str | None,
        start: tuple[str, str] | None,
        limit: int,
        revision: int,
    ) -> Page:
        """Up to `limit` objects at and after a place at an older revision. The cost grows with the number of
        changes since then, not with the storage. Raises as `list_at` does."""
        self._check_past(revision)
        changes = self._contents.window.after(revision, storage, namespace)
        if not changes:
            return msgspec.structs.replace(self.page(storage, namespace, start, limit), revision=revision)
        return self._contents.state.past_page(storage, namespace, start, limit, revision, changes)

    def watch(self, storage: str, namespace: str | None = None, since: int | None = None) -> Watch:
        """The changes after `since`, then live changes; None starts now. Raises `Compacted`."""
        if self._closed:
            raise StoreClosed
        if since is None:
            since = self.revision
        self._refuse_compacted(since)
        replay = self._contents.window.after(since, storage, namespace)
        return self._hub.add(storage, namespace, since, replay)

    async def drained(self) -> None:
        """Returns when every write staged until now is durable and visible, or has failed."""
        await self._commit.drained()

    async def reached(self, revision: int) -> None:
        """Waits until the store shows this revision, for as long as that takes."""
        if self.revision >= revision:
            return
        waiter = asyncio.get_running_loop().create_future()
        self._waiting[waiter] = revision
        try:
            await waiter
        finally:
            del self._waiting[waiter]

    def _check_past(self, revision: int) -> None:
        if revision > self.revision:
            raise FutureRevision(revision, self.revision)
        self._refuse_compacted(revision)

    def _refuse_compacted(self, revision: int) -> None:
        if revision < self._contents.window.compacted:
            raise Compacted(revision, self.oldest)

    async def copy_to(self, file: Path) -> None:
        """Copies the journal into a new file, as of a moment during the call. Writes go on meanwhile.

        Raises `WriteFailed`, or OSError if the file cannot be made; then no file is left.
        """
        if self._disk is None:
            raise NothingOnDisk
        if self._closed:
            raise StoreClosed
        await self._commit.drained()
        copying = asyncio.create_task(beside(partial(self._disk.journal.copy_to, file)))
        self._copying.add(copying)
        copying.add_done_callback(self._copying.discard)
        await asyncio.shield(copying)  # SQLite cannot be stopped in between

    async def close(self) -> None:
        """Commits every staged write, ends all watches and unlocks the data directory."""
        if self._closed:
            return
        self._closed = True
        await asyncio.gather(*self._copying, return_exceptions=True)
        await self._commit.close()
        self._hub.close()
        if self._disk is not None:
            self._disk.release()
