"""Whatever happens in whatever order, the store is a plain dict with a list of changes.

Commits fail, processes restart and are killed, history is compacted, in between.
"""

from __future__ import annotations

import asyncio
import shutil
import tempfile
from pathlib import Path
from typing import Any, NamedTuple
from unittest import mock

import hypothesis.strategies as st
import pytest
from hypothesis import HealthCheck, settings
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from longshore.store import (
    Compacted,
    DiskFull,
    Durability,
    Event,
    FutureRevision,
    Key,
    Limits,
    Staged,
    Store,
    Watch,
    commit,
)
from longshore.store.sqlite import SqliteJournal
from store.store_support import left_by_a_kill, settled, thing, value

pytestmark = pytest.mark.long

WINDOW = 6
KEYS = st.builds(Key, st.sampled_from(("pods", "jobs")), st.sampled_from(("a", "b")), st.sampled_from("xyz"))
SCOPES = st.tuples(st.sampled_from(("pods", "jobs")), st.sampled_from((None, "a", "b")))


class Change(NamedTuple):
    revision: int
    type: str
    key: Key
    value: Any
    previous: Any


def seen(event: Event) -> Change:
    assert event.entry.obj["metadata"]["resourceVersion"] == str(event.revision) == str(event.entry.revision)
    return Change(event.revision, event.type, event.key, value(event.entry), value(event.previous))


def within(key: Key, scope: tuple[str, str | None]) -> bool:
    return key.storage == scope[0] and scope[1] in (None, key.namespace)


class StoreModel(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.eager = mock.patch.object(commit, "_COMPACTION_MIN_ROWS", 1)
        self.eager.start()
        self.loop = asyncio.new_event_loop()
        self.root = Path(tempfile.mkdtemp())
        self.directory = self.root / "0"
        self.durability: Durability = "normal"
        self.changes: list[Change] = []
        self.now: dict[Key, Any] = {}
        self.revision = 1
        self.assigned = 1
        self.watches: list[tuple[Watch, tuple[str, str | None], int]] = []
        self.counter = 0

    @initialize(durability=st.sampled_from(("normal", "full")))
    def open(self, durability: Durability) -> None:
        self.durability = durability
        self._open()

    def _open(self) -> None:
        limits = Limits(window_events=WINDOW, decoded_bytes=500)
        self.store = Store.open(self.directory, durability=self.durability, limits=limits)

    def teardown(self) -> None:
        self.loop.run_until_complete(self.store.close())
        self.loop.close()
        shutil.rmtree(self.root)
        self.eager.stop()

    @property
    def oldest(self) -> int:
        gone = self.changes[: len(self.changes) - WINDOW] if len(self.changes) > WINDOW else []
        return gone[-1].revision + 1 if gone else 2

    def state_at(self, revision: int) -> dict[Key, Any]:
        state: dict[Key, Any] = {}
        for change in self.changes:
            if change.revision <= revision:
                state[change.key] = change.value
                if change.type == "DELETED":
                    del state[change.key]
        return state

    def _stage(self, ops: list[tuple[Key, bool]]) -> tuple[list[Staged], list[Change], dict[Key, Any]]:
        """Stages puts and removals (of what is there), and says what they will have changed."""
        staged: list[Staged] = []
        changes: list[Change] = []
        then = dict(self.now)
        for key, removes in ops:
            previous = then.get(key)
            if removes and previous is None:
                continue
            self.counter += 1
            self.assigned += 1
            obj = thing(key.name, self.counter, key.namespace)
            if removes:
                staged.append(self.store.stage_delete(key, obj))
                del then[key]
            else:
                staged.append(self.store.stage(key, obj))
                then[key] = self.counter
            assert staged[-1].entry.revision == self.assigned
            assert value(self.store.latest(key)) == then.get(key)
            kind = "DELETED" if removes else "MODIFIED" if previous is not None else "ADDED"
            changes.append(Change(self.assigned, kind, key, self.counter, previous))
        return staged, changes, then

    @rule(ops=st.lists(st.tuples(KEYS, st.booleans()), min_size=1, max_size=8))
    def write_together(self, ops: list[tuple[Key, bool]]) -> None:
        async def run() -> None:
            staged, changes, then = self._stage(ops)
            for write in staged:
                await write.done()
            self.changes += changes
            self.now = then
            if changes:
                self.revision = changes[-1].revision

        self.loop.run_until_complete(run())

    @rule(ops=st.lists(st.tuples(KEYS, st.booleans()), min_size=1, max_size=4))
    def write_to_a_full_disk(self, ops: list[tuple[Key, bool]]) -> None:
        async def run() -> None:
            with mock.patch.object(SqliteJournal, "append", side_effect=DiskFull("full")):
                staged, _, _ = self._stage(ops)
                for write in staged:
                    with pytest.raises(DiskFull):
                        await write.done()

        self.loop.run_until_complete(run())

    @rule(scope=SCOPES, back=st.integers(-2, WINDOW + 3))
    def list_the_past(self, scope: tuple[str, str | None], back: int) -> None:
        revision = self.revision - back
        if revision > self.revision:
            with pytest.raises(FutureRevision):
                self.store.list_at(*scope, revision)
        elif revision < self.oldest - 1:
            with pytest.raises(Compacted):
                self.store.list_at(*scope, revision)
        else:
            snapshot = self.store.list_at(*scope, revision)
            expected = {key: what for key, what in self.state_at(revision).items() if within(key, scope)}
            assert [(entry.key, value(entry)) for entry in snapshot] == sorted(expected.items())
            assert snapshot.revision == revision

    @rule(scope=SCOPES, back=st.integers(-2, WINDOW + 3))
    def watch(self, scope: tuple[str, str | None], back: int) -> None:
        since = self.revision - back
        if since < self.oldest - 1:
            with pytest.raises(Compacted):
                self.store.watch(*scope, since)
        else:
            self.watches.append((self.store.watch(*scope, since), scope, since))

    @precondition(lambda self: self.watches)
    @rule(data=st.data())
    def read_a_watch(self, data: st.DataObject) -> None:
        index = data.draw(st.integers(0, len(self.watches) - 1))
        watch, scope, since = self.watches[index]
        expected = [
            change for change in self.changes if change.revision > since and within(change.key, scope)
        ]
        if not expected:
            return

        async def run() -> list[Change]:
            return [seen(event) for event in await anext(watch)]

        assert self.loop.run_until_complete(run()) == expected
        self.watches[index] = watch, scope, expected[-1].revision

    @rule(killed=st.booleans())
    def restart(self, killed: bool) -> None:
        """Watchers come back with the last revision they have seen."""
        if killed:
            new = self.root / str(int(self.directory.name) + 1)
            self.loop.run_until_complete(settled(self.store))  # a copy made during a write is no snapshot
            left_by_a_kill(self.directory, new)
            self.loop.run_until_complete(self.store.close())
            shutil.rmtree(self.directory)
            self.directory = new
        else:
            self.loop.run_until_complete(self.store.close())
        self._open()
        self.assigned = self.revision
        back = [(scope, since) for _, scope, since in self.watches if since >= self.oldest - 1]
        self.watches = [(self.store.watch(*scope, since), scope, since) for scope, since in back]

    @invariant()
    def the_store_is_the_model(self) -> None:
        if not hasattr(self, "store"):
            return
        assert (self.store.revision, self.store.oldest) == (self.revision, self.oldest)
        for storage in ("pods", "jobs"):
            snapshot = self.store.list(storage)
            mine = sorted(item for item in self.now.items() if item[0].storage == storage)
            assert [(entry.key, value(entry)) for entry in snapshot] == mine
            for entry in snapshot:
                assert self.store.get(entry.key) is self.store.latest(entry.key) is entry


TestStoreModel = StoreModel.TestCase
TestStoreModel.settings = settings(
    max_examples=40, stateful_step_count=30, deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
