"""After a restart: the same objects, the same history, the next revision."""

from __future__ import annotations

import asyncio
import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from longshore.store import DataDirBusy, Durability, JournalUnusable, Limits, Store
from longshore.store.sqlite import SqliteJournal
from store.store_support import key, left_by_a_kill, names, opened, put, read, remove, told, value


@pytest.mark.parametrize("how", ["closed", "killed"])
@pytest.mark.parametrize("durability", ["normal", "full"])
def test_objects_and_history_are_there_after_a_restart(
    tmp_path: Path, how: str, durability: Durability
) -> None:
    async def run() -> None:
        directory = tmp_path / "data"
        store = Store.open(directory, durability=durability)
        await put(store, "a", 1)
        await put(store, "a", 2)
        await put(store, "b", 1)
        await remove(store, "b")
        await put(store, "", 5, at=key("c", "", "nodes"))
        before = [(event, event.previous) for event in await read(store.watch("pods", None, 1), 4)]
        raw = [entry.raw for entry in store.list("pods")]
        if how == "killed":
            directory = left_by_a_kill(directory, tmp_path / "copy")
        revision, oldest = store.revision, store.oldest
        await store.close()

        async with opened(directory, durability=durability) as again:
            assert (again.revision, again.oldest) == (revision, oldest)
            assert [entry.raw for entry in again.list("pods")] == raw
            assert value(again.get(key("c", "", "nodes"))) == 5
            after = await read(again.watch("pods", None, 1), 4)
            assert [told(event) for event in after] == [told(event) for event, _ in before]
            for event, (was, previous) in zip(after, before, strict=True):
                assert event.entry.raw == was.entry.raw
                assert value(event.previous) == value(previous)
            assert names(again.list_at("pods", None, 4)) == ["a", "b"]
            assert (await put(again, "d")).revision == revision + 1

    asyncio.run(run())


def test_history_that_left_the_window_does_not_come_back(tmp_path: Path) -> None:
    async def run() -> None:
        async with opened(tmp_path, limits=Limits(window_events=4)) as store:
            for number in range(10):
                await put(store, f"p{number % 6}", number)
            oldest = store.oldest
        async with opened(tmp_path, limits=Limits(window_events=4)) as store:
            assert store.oldest == oldest == store.revision - 3
            assert len(store.list("pods")) == 6

    asyncio.run(run())


@pytest.mark.parametrize("durability", ["normal", "full"])
def test_a_log_that_is_started_over_stays_short_and_loses_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, durability: Durability
) -> None:
    monkeypatch.setattr("longshore.store.sqlite._CHECKPOINT_BYTES", 200_000)
    monkeypatch.setattr("longshore.store.sqlite._CHECKPOINT_RETRY_BYTES", 20_000)
    checkpoints: list[SqliteJournal] = []

    def checkpoint(journal: SqliteJournal) -> None:
        do(journal)
        checkpoints.append(journal)

    do = SqliteJournal._checkpoint
    monkeypatch.setattr(SqliteJournal, "_checkpoint", checkpoint)

    async def run() -> None:
        directory = tmp_path / "data"
        async with opened(directory, durability=durability) as store:
            for number in range(100):
                for name in ("a", f"p{number:03}"):
                    await put(store, name, f"{number:03}" + "x" * 1000)
                assert (directory / "journal.db-wal").stat().st_size < 500_000
                if number % 25 == 24:  # sometimes in the middle of what is left over from before
                    copy = left_by_a_kill(directory, tmp_path / f"copy{number}")
                    async with opened(copy, durability=durability) as again:
                        assert again.revision == store.revision
                        everything = {entry.key.name: value(entry)[:3] for entry in again.list("pods")}
                        past = {f"p{n:03}": f"{n:03}" for n in range(number + 1)}
                        assert everything == {"a": f"{number:03}", **past}
            assert len(checkpoints) > 5

    asyncio.run(run())


def test_in_memory_leaves_nothing_on_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def run() -> None:
        monkeypatch.chdir(tmp_path)
        async with opened(None) as store:
            await put(store, "a")
        async with opened(None) as store:
            assert len(store.list("pods")) == 0

    asyncio.run(run())
    assert list(tmp_path.iterdir()) == []


def test_the_data_directory_is_for_its_owner_alone(tmp_path: Path) -> None:
    async def run() -> None:
        umask = os.umask(0)
        try:
            async with opened(tmp_path / "deep" / "data") as store:
                await put(store, "a")
                files = list((tmp_path / "deep" / "data").iterdir())
                assert {file.name for file in files} >= {
                    "lock",
                    "journal.db",
                    "journal.db-wal",
                    "acknowledged",
                }
                for file in [tmp_path / "deep" / "data", *files]:
                    assert stat.S_IMODE(file.stat().st_mode) & 0o077 == 0, file
        finally:
            os.umask(umask)

    asyncio.run(run())


def test_a_second_opener_is_told_who_holds_the_directory(tmp_path: Path) -> None:
    async def run() -> None:
        async with opened(tmp_path) as store:
            await put(store, "a")
            with pytest.raises(DataDirBusy) as busy:
                Store.open(tmp_path)
            assert busy.value.pid == os.getpid()
            assert f"{tmp_path}, held by process {os.getpid()}" in str(busy.value)
            assert "Stop it, or pass another --data-dir" in str(busy.value)
            await put(store, "b")
        async with opened(tmp_path) as store:
            assert len(store.list("pods")) == 2

    asyncio.run(run())


def test_a_dead_holder_leaves_no_lock_behind(tmp_path: Path) -> None:
    code = (
        "import os, pathlib, sys; from longshore.store import Store; "
        "store = Store.open(pathlib.Path(sys.argv[1])); os.kill(os.getpid(), 9)"
    )
    subprocess.run([sys.executable, "-c", code, str(tmp_path)], check=False)
    assert (tmp_path / "journal.db").exists()

    async def run() -> None:
        async with opened(tmp_path) as store:
            await put(store, "a")

    asyncio.run(run())


def test_a_failed_opening_lets_the_directory_go(tmp_path: Path) -> None:
    (tmp_path / "journal.db").mkdir()
    for _ in range(2):
        with pytest.raises(JournalUnusable):
            Store.open(tmp_path)


def test_a_directory_that_cannot_be_made_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(JournalUnusable, match="file"):
        Store.open(tmp_path / "file" / "data")
