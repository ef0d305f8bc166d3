"""A write: its revision, when it is seen, what it builds upon, and what is left when it fails."""

from __future__ import annotations

import asyncio
import gc
from collections.abc import Sequence
from pathlib import Path

import pytest

from longshore.store import Commit, DiskFull, Entry, Event, Limits, Store, StoreClosed, WriteFailed
from longshore.store.journal import NoJournal
from longshore.store.sqlite import SqliteJournal
from store.store_support import key, names, opened, put, read, remove, thing, value


@pytest.fixture(params=["on disk", "on disk, synced", "in memory"])
def kind(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def make(kind: str, directory: Path) -> Store:
    if kind == "in memory":
        return Store.open(None)
    return Store.open(directory, durability="full" if "synced" in kind else "normal")


def test_each_write_gets_the_next_revision_as_its_resource_version(kind: str, tmp_path: Path) -> None:
    async def run() -> None:
        store = make(kind, tmp_path)
        first, second = await put(store, "a"), await put(store, "a")
        gone = await remove(store, "a")
        assert [first.revision, second.revision, gone.revision] == [2, 3, 4]
        for entry in (first, second, gone):
            assert entry.obj["metadata"]["resourceVersion"] == str(entry.revision)
            assert f'"resourceVersion":"{entry.revision}"'.encode() in entry.raw
        assert store.revision == 4
        await store.close()

    asyncio.run(run())


def test_a_write_is_seen_by_writers_at_once_and_by_readers_when_durable(kind: str, tmp_path: Path) -> None:
    async def run() -> None:
        store = make(kind, tmp_path)
        await put(store, "a", 1)
        before = store.revision
        staged = store.stage(key("a"), thing("a", 2))
        created = store.stage(key("b"), thing("b", 3))
        assert staged.entry.revision == before + 1
        assert value(store.latest(key("a"))) == 2
        assert store.latest(key("b")) is created.entry
        assert value(store.get(key("a"))) == 1
        assert store.get(key("b")) is None
        assert names(store.list("pods")) == ["a"]
        assert store.revision == before
        assert await created.done() is created.entry
        assert store.get(key("a")) is staged.entry
        assert store.latest(key("a")) is staged.entry
        assert names(store.list("pods")) == ["a", "b"]
        await store.close()

    asyncio.run(run())


def test_a_staged_deletion_hides_the_object_from_writers_only(kind: str, tmp_path: Path) -> None:
    async def run() -> None:
        store = make(kind, tmp_path)
        await put(store, "a", 1)
        staged = store.stage_delete(key("a"), thing("a", 1))
        assert store.latest(key("a")) is None
        assert value(store.get(key("a"))) == 1
        with pytest.raises(KeyError):
            store.stage_delete(key("a"), thing("a", 1))
        again = store.stage(key("a"), thing("a", 2))
        await again.done()
        assert value(store.get(key("a"))) == 2
        await staged.done()
        await store.close()

    asyncio.run(run())


def test_the_newest_staged_state_stays_the_latest_while_older_ones_become_durable(tmp_path: Path) -> None:
    async def run() -> None:
        async with opened(tmp_path, durability="full") as store:
            first = store.stage(key("a"), thing("a", 1))
            await asyncio.sleep(0)  # on its way to the disk
            second = store.stage(key("a"), thing("a", 2))
            await first.done()
            assert value(store.get(key("a"))) == 1
            assert store.latest(key("a")) is second.entry
            await second.done()
            assert store.get(key("a")) is store.latest(key("a")) is second.entry

    asyncio.run(run())


def test_writers_that_do_not_await_in_between_never_lose_an_update(kind: str, tmp_path: Path) -> None:
    async def run() -> None:
        store = make(kind, tmp_path)
        await put(store, "counter", 0)

        async def add_one() -> None:
            for _ in range(20):
                latest = store.latest(key("counter"))
                await store.stage(key("counter"), thing("counter", value(latest) + 1)).done()

        await asyncio.gather(*(add_one() for _ in range(10)))
        assert value(store.get(key("counter"))) == 200
        await store.close()

    asyncio.run(run())


def test_writes_staged_together_are_one_transaction(tmp_path: Path) -> None:
    async def run() -> None:
        commits: list[Commit] = []
        async with opened(tmp_path) as store:
            store.on_commit(commits.append)
            staged = [store.stage(key(f"p{i}"), thing(f"p{i}")) for i in range(300)]
            await asyncio.gather(*(write.done() for write in staged))
            assert [commit.writes for commit in commits] == [300]
            assert commits[0].bytes == sum(len(write.entry.raw) for write in staged)
            assert (store.counters.commits, store.counters.writes) == (1, 300)

    asyncio.run(run())


def test_writes_staged_while_a_transaction_runs_go_into_the_next_one(tmp_path: Path) -> None:
    async def run() -> None:
        commits: list[Commit] = []
        async with opened(tmp_path, durability="full") as store:
            store.on_commit(commits.append)
            first = store.stage(key("a"), thing("a"))
            await asyncio.sleep(0)  # the transaction with `a` has begun, in the writer thread
            others = [store.stage(key(f"p{i}"), thing(f"p{i}")) for i in range(5)]
            await first.done()
            await asyncio.gather(*(write.done() for write in others))
            assert [commit.writes for commit in commits] == [1, 5]

    asyncio.run(run())


def test_a_lone_write_waits_for_nothing_but_the_end_of_its_turn() -> None:
    async def run() -> None:
        async with opened(None) as store:
            store.stage(key("a"), thing("a"))
            await asyncio.sleep(0)
            assert names(store.list("pods")) == ["a"]

    asyncio.run(run())


def test_a_growing_batch_waits_two_turns_for_more_and_no_longer() -> None:
    async def run() -> None:
        commits: list[Commit] = []
        async with opened(None) as store:  # no disk is slow there
            store.on_commit(commits.append)
            store.stage(key("a"), thing("a"))
            for name in ("b", "c", "d", "e"):
                store.stage(key(name), thing(name))
                await asyncio.sleep(0)
            await asyncio.sleep(0)
            assert [commit.writes for commit in commits] == [4, 1]
            for name in ("f", "g"):
                store.stage(key(name), thing(name))
            await asyncio.sleep(0)
            assert len(commits) == 2, "it had grown"
            await asyncio.sleep(0)
            assert [commit.writes for commit in commits] == [4, 1, 2], "it grew no more"

    asyncio.run(run())


def test_a_cancelled_waiter_harms_neither_the_write_nor_the_others(tmp_path: Path) -> None:
    async def run() -> None:
        async with opened(tmp_path, durability="full") as store:
            first, second = store.stage(key("a"), thing("a")), store.stage(key("b"), thing("b"))
            waiter = asyncio.create_task(first.done())
            await asyncio.sleep(0)
            waiter.cancel()
            await second.done()
            assert names(store.list("pods")) == ["a", "b"]

    asyncio.run(run())


@pytest.mark.parametrize("durability", ["normal", "full"])
def test_a_failed_commit_fails_everything_staged_and_shows_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, durability: str
) -> None:
    async def run() -> None:
        store = Store.open(tmp_path, durability="full" if durability == "full" else "normal")
        await put(store, "a", 1)
        watch = store.watch("pods")

        append = SqliteJournal.append

        def full_for_a(self: SqliteJournal, events: Sequence[Event]) -> None:
            if any(event.key.name == "a" for event in events):
                raise DiskFull("no space")
            append(self, events)

        with monkeypatch.context() as patch:
            patch.setattr(SqliteJournal, "append", full_for_a)
            one = store.stage(key("a"), thing("a", 2))
            if durability == "full":
                await asyncio.sleep(0)  # then it is on its way to the disk, and the next one is behind it
            two = store.stage(key("b"), thing("b", 2))
            for outcome in await asyncio.gather(one.done(), two.done(), return_exceptions=True):
                assert isinstance(outcome, DiskFull)
                assert "Free some space" in str(outcome)
            with pytest.raises(DiskFull):
                await one.done()  # also when asked late
            await asyncio.sleep(0.05)
        assert value(store.latest(key("a"))) == value(store.get(key("a"))) == 1
        assert store.latest(key("b")) is None
        failed = two.entry.revision
        written = await put(store, "a", 3)
        assert written.revision > failed
        assert [(e.type, value(e.entry), value(e.previous)) for e in await read(watch, 1)] == [
            ("MODIFIED", 3, 1)
        ]
        assert store.counters.failed_commits >= 1
        await store.close()
        async with opened(tmp_path) as again:
            assert value(again.get(key("a"))) == 3
            assert names(again.list("pods")) == ["a"]

    asyncio.run(run())


def test_an_unexpected_error_in_the_journal_reaches_those_who_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    async def run() -> None:
        def broken(self: object, events: Sequence[Event]) -> None:
            raise ZeroDivisionError("surprise")

        store = Store.open(None)
        with monkeypatch.context() as patch:
            patch.setattr(NoJournal, "append", broken)
            with pytest.raises(WriteFailed, match="surprise"):
                await put(store, "a")
        assert await put(store, "a")
        await store.close()

    asyncio.run(run())


def test_close_commits_what_is_staged_and_then_refuses(tmp_path: Path) -> None:
    async def run() -> None:
        store = Store.open(tmp_path)
        staged = [store.stage(key(f"p{i:04}"), thing(f"p{i:04}")) for i in range(1500)]
        await store.close()
        assert [await write.done() for write in staged] == [write.entry for write in staged]
        with pytest.raises(StoreClosed):
            store.stage(key("late"), thing("late"))
        with pytest.raises(StoreClosed):
            store.watch("pods")
        await store.close()
        async with opened(tmp_path) as again:
            assert len(again.list("pods")) == 1500

    asyncio.run(run())


def test_an_object_that_cannot_be_encoded_takes_no_revision() -> None:
    async def run() -> None:
        async with opened(None) as store:
            with pytest.raises(TypeError):
                store.stage(key("a"), thing("a", object()))
            assert store.latest(key("a")) is None
            assert (await put(store, "a")).revision == store.revision == 2

    asyncio.run(run())


def test_waiting_for_a_revision_ends_when_it_is_durable() -> None:
    async def run() -> None:
        async with opened(None) as store:
            await store.reached(store.revision)
            waiting = asyncio.create_task(store.reached(store.revision + 2))
            await put(store, "a")
            await asyncio.sleep(0)
            assert not waiting.done()
            await put(store, "b")
            await waiting

    asyncio.run(run())


def test_an_entry_does_not_print_its_content() -> None:
    async def run() -> Entry:
        async with opened(None) as store:
            return await put(store, "a", "s3cret")

    entry = asyncio.run(run())
    assert repr(entry) == "Entry(pods/default/a@2)"
    assert "s3cret" not in repr(Event(2, "ADDED", entry, None))


def test_a_store_in_memory_never_commits_in_a_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    """Else a run on a virtual clock would depend on how busy the machine was."""
    monkeypatch.setattr("longshore.store.commit._SLOW_SECONDS", -1.0)
    monkeypatch.setattr(
        "longshore.store.writers.WriterThread.submit", lambda *_: pytest.fail("gave a thread work")
    )

    async def run() -> None:
        store = Store.open(None)
        for _ in range(3):
            await put(store, "a")

    asyncio.run(run())


def test_replaced_states_of_a_large_object_go_with_the_changes_that_are_kept() -> None:
    async def run() -> None:
        limits = Limits(window_bytes=1 << 20, decoded_bytes=1 << 18)
        async with opened(None, limits=limits) as store:
            for number in range(100):
                await put(store, "large", f"{number}" + "x" * 100_000)
            states = [
                each for each in gc.get_objects() if isinstance(each, Entry) and each.key.name == "large"
            ]
            assert len(states) < 20, "10 of 100 kB are kept for watchers, and two or three decoded"

    asyncio.run(run())
