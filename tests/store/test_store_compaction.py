"""Compaction: the file stays in proportion to what is alive, and what is alive stays."""

from __future__ import annotations

import asyncio
import sqlite3
import time
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

import pytest

from longshore.store import Event, Limits, Store, WriteFailed, commit
from longshore.store.sqlite import SqliteJournal
from store.store_support import key, left_by_a_kill, names, opened, put, settled, thing, told, value

pytestmark = pytest.mark.long


def rows(directory: Path) -> list[tuple[int, str, int]]:
    with closing(sqlite3.connect(directory / "journal.db")) as db:
        return db.execute("SELECT revision, name, deleted FROM journal ORDER BY revision").fetchall()


def size(directory: Path) -> int:
    return sum(file.stat().st_size for file in directory.iterdir())


def test_many_updates_of_one_object_keep_the_file_small(tmp_path: Path) -> None:
    async def run() -> None:
        limits = Limits(window_events=1000)
        async with opened(tmp_path, limits=limits) as store:
            await put(store, "still", "here")
            largest = 0
            for round_ in range(200):
                for number in range(1000):
                    staged = store.stage(key("busy"), thing("busy", [round_, number, "x" * 100]))
                await staged.done()
                largest = max(largest, size(tmp_path))
            assert largest < 48 << 20  # 200,000 rows of 250 bytes would be 50 MB, and as much in the log
            await settled(store)
        assert len(rows(tmp_path)) < 2500
        assert size(tmp_path) < 4 << 20
        async with opened(tmp_path, limits=limits) as store:
            assert value(store.get(key("still"))) == "here"
            assert value(store.get(key("busy")))[:2] == [199, 999]
            assert store.revision == 200_002

    asyncio.run(run())


def test_space_is_given_back_when_most_objects_are_gone(tmp_path: Path) -> None:
    async def run() -> None:
        async with opened(tmp_path, limits=Limits(window_events=100)) as store:
            for number in range(5000):
                staged = store.stage(key(f"p{number}"), thing(f"p{number}", "x" * 2000))
            await staged.done()
            for number in range(5000):
                staged = store.stage_delete(key(f"p{number}"), thing(f"p{number}"))
            await staged.done()
            await settled(store)
            for number in range(2000):  # shrinking goes on with later compactions
                staged = store.stage(key("a"), thing("a", number))
            await staged.done()
            await settled(store)
        assert (tmp_path / "journal.db").stat().st_size < 6 << 20

    asyncio.run(run())


@pytest.fixture
def eager(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(commit, "_COMPACTION_MIN_ROWS", 1)


@pytest.mark.usefixtures("eager")
def test_what_is_superseded_or_deleted_and_out_of_the_window_goes_and_nothing_else(tmp_path: Path) -> None:
    async def run() -> None:
        async with opened(tmp_path, limits=Limits(window_events=2)) as store:
            await put(store, "live", 1)  # 2
            await put(store, "changed", 1)  # 3
            await put(store, "changed", 2)  # 4
            await put(store, "gone", 1)  # 5
            await store.stage_delete(key("gone"), thing("gone", 1)).done()  # 6
            await put(store, "late", 1)  # 7: the window is 6, 7
            await put(store, "late", 2)  # 8: the window is 7, 8
            await settled(store)
        assert rows(tmp_path) == [(2, "live", 0), (4, "changed", 0), (7, "late", 0), (8, "late", 0)]

    asyncio.run(run())


@pytest.mark.usefixtures("eager")
@pytest.mark.parametrize("how", ["closed", "killed"])
def test_after_compaction_a_restart_gives_the_same_state_and_window(tmp_path: Path, how: str) -> None:
    async def run() -> None:
        limits = Limits(window_events=10)
        directory = tmp_path / "data"
        store = Store.open(directory, limits=limits)
        for number in range(300):
            name = f"p{number * 7 % 23}"
            if number % 5 == 4 and store.latest(key(name)) is not None:
                await store.stage_delete(key(name), thing(name)).done()
            else:
                await put(store, name, number)
        await settled(store)
        before = [(entry.key, entry.raw) for entry in store.list("pods")]
        past = [entry.raw for entry in store.list_at("pods", None, store.oldest - 1)]
        history = [told(event) for event in await anext(store.watch("pods", None, store.oldest - 1))]
        numbers = (store.revision, store.oldest)
        assert store.counters.compacted_rows > 200
        if how == "killed":
            directory = left_by_a_kill(directory, tmp_path / "copy")
        await store.close()
        async with opened(directory, limits=limits) as again:
            assert (again.revision, again.oldest) == numbers
            assert [(entry.key, entry.raw) for entry in again.list("pods")] == before
            assert [entry.raw for entry in again.list_at("pods", None, again.oldest - 1)] == past
            assert [told(e) for e in await anext(again.watch("pods", None, again.oldest - 1))] == history

    asyncio.run(run())


@pytest.mark.usefixtures("eager")
def test_the_revision_does_not_go_back_when_the_last_row_is_compacted(tmp_path: Path) -> None:
    async def run() -> None:
        async with opened(tmp_path, limits=Limits(window_events=0)) as store:
            await put(store, "a")
            await store.stage_delete(key("a"), thing("a")).done()
            await settled(store)
        assert rows(tmp_path) == []
        (tmp_path / "acknowledged").unlink()
        async with opened(tmp_path) as store:
            assert (store.revision, store.oldest) == (3, 4)

    asyncio.run(run())


@pytest.mark.usefixtures("eager")
def test_a_compaction_that_fails_is_tried_again_after_the_next_write(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def run() -> None:
        async with opened(tmp_path, limits=Limits(window_events=1)) as store:
            with monkeypatch.context() as patch:

                def fails(self: object, revisions: object, through: object) -> None:
                    raise WriteFailed("no")

                patch.setattr(SqliteJournal, "compact", fails)
                for number in range(5):
                    await put(store, "a", number)
                await settled(store)
                assert store.counters.compacted_rows == 0
            await put(store, "a", 5)
            await settled(store)
            assert store.counters.compacted_rows == 4
            assert names(store.list("pods")) == ["a"]

    asyncio.run(run())


@pytest.mark.usefixtures("eager")
def test_writes_go_between_two_steps_of_compaction(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def run() -> None:
        steps: list[str] = []
        append, compact = SqliteJournal.append, SqliteJournal.compact

        def noted_append(self: SqliteJournal, events: Sequence[Event]) -> None:
            steps.append("append")
            append(self, events)

        def noted_compact(self: SqliteJournal, revisions: Sequence[int], through: int) -> None:
            steps.append("compact")
            time.sleep(0.02)
            compact(self, revisions, through)

        async with opened(tmp_path, limits=Limits(window_events=1)) as store:
            monkeypatch.setattr(commit, "_COMPACTION_MAX_ROWS", 1)
            monkeypatch.setattr(SqliteJournal, "append", noted_append)
            monkeypatch.setattr(SqliteJournal, "compact", noted_compact)
            for number in range(6):
                staged = store.stage(key("a"), thing("a", number))
            await staged.done()  # four rows are dead now, and the first is being removed
            await put(store, "b")
            await settled(store)
            assert steps == ["append", "compact", "append", "compact", "compact", "compact", "compact"]

    asyncio.run(run())


@pytest.mark.usefixtures("eager")
def test_rows_superseded_before_a_power_cut_are_still_removed_after_it(tmp_path: Path) -> None:
    async def run() -> None:
        async with opened(tmp_path) as store:
            for number in range(5):
                await put(store, "a", number)
            await put(store, "gone")
            await store.stage_delete(key("gone"), thing("gone")).done()
        with (tmp_path / "acknowledged").open("r+b") as mark:
            mark.write((1000).to_bytes(8, "little") + b"another boot")
        for number in range(2):
            async with opened(tmp_path, limits=Limits(window_events=1)) as store:
                if number:
                    await put(store, "late")
                    await settled(store)
        assert rows(tmp_path) == [(6, "a", 0), (1001, "late", 0)]

    asyncio.run(run())
